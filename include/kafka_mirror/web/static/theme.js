// The theme that was chosen in Airflow; until one was chosen, the system's.
(function () {
  "use strict";
  function apply() {
    let chosen = null;
    try {
      chosen = localStorage.getItem("theme");
    } catch (_) {
      // Storage may be forbidden: then the system's theme it is.
    }
    if (chosen === "dark" || chosen === "light") {
      document.documentElement.dataset.theme = chosen;
    } else {
      delete document.documentElement.dataset.theme;
    }
  }
  apply();
  addEventListener("storage", apply);
})();
