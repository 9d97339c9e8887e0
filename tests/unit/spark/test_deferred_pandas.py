"""What Spark Connect's client imports of pandas, in Python processes of their own: whoever asks first loads it for good."""

import subprocess
import sys

CLIENT = """
import sys
from mirror.spark.deferred_pandas import deferred_pandas
with deferred_pandas():
    import pyspark.sql.connect.session as session
"""


def printed(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_the_client_of_spark_connect_is_imported_without_pandas() -> None:
    assert printed(CLIENT + "print([name for name in sys.modules if name.partition('.')[0] == 'pandas'])") == "[]"


def test_nothing_is_a_data_frame_while_pandas_is_not_imported() -> None:
    assert printed(CLIENT + "print(isinstance(1, session.pd.DataFrame), 'pandas.core' in sys.modules)") == "False False"


def test_its_functions_and_classes_are_those_of_pandas_once_they_are_used() -> None:
    used = CLIENT + "frame = session.pd.DataFrame({'time': [1]}).astype('datetime64[s]')\n"
    assert printed(used + "print(session.is_datetime64_dtype(frame['time'].dtype), isinstance(frame, session.pd.DataFrame))") == "True True"


def test_others_import_pandas_itself_behind_the_client() -> None:
    assert (
        printed(CLIENT + "import pandas\nprint(isinstance(pandas.DataFrame(), pandas.DataFrame), type(pandas).__name__)") == "True module"
    )


def test_pandas_that_is_imported_already_stays() -> None:
    before = "import pandas\n"
    assert printed(before + CLIENT + "print(session.pd is pandas, pandas is sys.modules['pandas'])") == "True True"
