r"""What is compared: generated properties files, patterns, names and configurations, as people write them and as they should not."""

from hypothesis import strategies as st

# ------------------------------------------------------------ properties files

_PIECES = [
    *("a", "b", "key", "=", ":", " ", "\t", "\f", "#", "!", "\\", "\\\\", "\n", "\r", "\r\n", "\\\n", "\\\r\n", "\\\r"),
    *(r"\t", r"\n", r"\f", r"\r", r"\q", r"\=", r"\:", r"\#", r"\ ", r"\u0041", r"\u00e9", r"\uD83D", r"\uDE00", r"\u12", r"\u"),
    *("\x00", "\x0b", "\x85", "\xe9", "\xff", "A->B.topics", "${env:X}", ".*"),
]


def property_files() -> st.SearchStrategy[bytes]:
    """Bytes in which everything that the format knows meets everything else."""
    return st.lists(st.sampled_from(_PIECES), max_size=25).map(lambda pieces: "".join(pieces).encode("latin-1"))


# ------------------------------------------------------------ names and patterns

_LETTERS = "abAB01._-"
_ODD = "é\xc9ßſKǆ\u0130\u0131 \t\n\r\x85\u2028\U0001f600,&[]()"


def texts() -> st.SearchStrategy[str]:
    """Names of topics and groups; a group may be called anything."""
    return st.text(_LETTERS, max_size=6) | st.text(_LETTERS + _ODD, max_size=4)


_PLAIN = [
    *("a", "b", "A", "1", "_", "-", r"\.", ".", "é", " ", "#", "a.b", "ab", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S"),
    *(r"\p{Alpha}", r"\p{Lower}", r"\x41", r"\x{62}", r"\u0041", r"\t", r"\Qa.b\E", r"\Q.", r"\E", r"\_", r"\-", r"\,", "}", "]"),
    *("[ab]", "[^a]", "[a-c]", r"[\w.-]", r"[-\.]", r"[^\d_]", r"[a\Q-\Ez]", "[B-é]", "\U0001f600"),
]
_PLACES = ["^", "$", "(?i)", "(?-i)", "(?=a)", "(?!b)", "(?!.*a)", "(?<=a)", "(?<!-b|b)", "(?<=[ab]|)", "(?<!(a|b)a)"]
_DOUBTFUL = [
    *(
        r"\h",
        r"\v",
        r"\R",
        r"\X",
        r"\P{Lu}",
        r"\p{L}",
        r"\p{Punct}",
        r"\p{javaLowerCase}",
        r"\p{IsAlphabetic}",
        r"\p{IsLat#}",
        r"\p{script=}",
    ),
    *(r"\A", r"\z", r"\Z", r"\G", r"\b", r"\B", "(?x)", "(?s)", "(?u)", "(?m)", "(?U)", "(?d)", "(?iu)", "(?i-i)", "(?#x)"),
    *(
        r"\1",
        r"\2",
        r"\k<n>",
        "(?<n>a)",
        "&&",
        r"\0101",
        r"\cA",
        r"\x4",
        r"\u12",
        r"\uD83D\uDE00",
        r"\x{110000}",
        "\\",
        "{",
        "[",
        "[]a]",
        "[^]a]",
    ),
    *(r"[a-\d]", "[a-[b]]", "[&&a]", "(?<=.)", "(?<!^a)", "(?<=a{1,2})", "(?<=a*)", "(?P<n>a)", "(", ")", "|"),
]
_ATOMS = st.sampled_from([*_PLAIN, *_PLACES, *_DOUBTFUL])
_MEMBERS = st.lists(
    st.sampled_from(
        [
            *(
                "a",
                "b",
                "A-Z",
                "a-c",
                "0-9",
                "^",
                "-",
                "&&",
                "&",
                "[b-d]",
                "[^a]",
                "&&[^b]",
                "&&[ab]",
                r"\d",
                r"\w",
                r"\W",
                r"\-",
                r"\]",
                ".",
                "_",
            ),
            *("é", r"\p{L}", r"\p{Alpha}", "]", "#", " ", r"\x41", r"\Q]\E"),
        ]
    ),
    min_size=1,
    max_size=4,
).map("".join)
_CLASSES = st.builds("[{}{}]".format, st.sampled_from(["", "", "^"]), _MEMBERS)
_PLAIN_COUNTS = ["", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1}", "{0,}", "{1,2}", "{0,2}?", "{2,3}", "{3}?", "{0}"]
_COUNTS = st.sampled_from([*_PLAIN_COUNTS, "*+", "++", "?+", "{2}+", "{1}+", "{1,2}+", "**", "{2}{3}", "{2,1}", "{,1}", "{", "{1"])
_PLAIN_OPENINGS = ["(", "(", "(?:", "(?i:", "(?-i:", "(?=", "(?!"]
_OPENINGS = st.sampled_from([*_PLAIN_OPENINGS, "(?>", "(?x:", "(?<=", "(?<!", "(?<n>", "(?s:", "(?"])


def _nested(atoms: st.SearchStrategy[str], counts: st.SearchStrategy[str], openings: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.builds(str.__add__, atoms, counts),
        lambda inner: (
            st.lists(inner, min_size=1, max_size=4).map("".join)
            | st.lists(inner, min_size=2, max_size=3).map("|".join)
            | st.builds("{}{}){}".format, openings, inner, counts)
        ),
        max_leaves=8,
    )


def patterns() -> st.SearchStrategy[str]:
    """Java patterns of every construct, some of them broken; half of them of those that the mirror takes."""
    plain = _nested(st.sampled_from([*_PLAIN, *_PLAIN, *_PLACES]), st.sampled_from(_PLAIN_COUNTS), st.sampled_from(_PLAIN_OPENINGS))
    return plain | _nested(_ATOMS | _CLASSES, _COUNTS, _OPENINGS)


# ------------------------------------------------------------ filters

_MEMBER = st.sampled_from(
    [
        *("orders", "o.*", ".*", "pay.*", "orders|pay", "(?i)ORDERS", "a", "b", "A", "", " ", "x{1", "2}", "(a", "b)", "[a", r"\Qa", r"\E"),
        *(r"mm2.*\.internal", r".*[\-\.]internal", r".*\.replica", "__.*", "console-consumer-.*", "connect-.*", "connect-[0-9]+", "grüße"),
        *("min.insync.replicas", "follower.replication.throttled.replicas", "retention.ms", "message.timestamp.*", "min.insync.replica[s"),
    ]
)
_COMMAS = st.sampled_from([",", ", ", " ,", "\t,\n", ",,", " , "])
_NAMES = [
    *(
        "orders",
        "ORDERS",
        "o",
        "pay",
        "payments",
        "a",
        "b",
        "A",
        "ab",
        "",
        "mm2-offsets.a.internal",
        "a.internal",
        "a-internal",
        "a.replica",
    ),
    *("__consumer_offsets", "console-consumer-7", "connect-x", "connect-12", "heartbeats", "grüße", "GRÜSSE", "a,b", "x", "xx", "b|a"),
    *("min.insync.replicas", "min_insync_replicas", "retention.ms", "log.message.timestamp.before.max.ms", "message.timestamp.type"),
]


def _member_lists() -> st.SearchStrategy[str]:
    members = st.lists(_MEMBER | _ATOMS | _CLASSES, min_size=1, max_size=4)
    blanks = st.sampled_from(["", "", " ", "\t"])
    return st.just("") | st.builds(lambda comma, found, blank: blank + comma.join(found) + blank, _COMMAS, members, blanks)


def filter_properties() -> st.SearchStrategy[dict[str, str]]:
    """The texts of the filters' properties; what is left out has its default."""
    names = ("topics", "topics.exclude", "groups", "groups.exclude", "config.properties.exclude")
    lists = {name: _member_lists() for name in names}
    words = st.sampled_from(["source", "target", "Source", "source ", "", "both"])
    return st.fixed_dictionaries({}, optional={**lists, "use.defaults.from": words})


def filtered_names() -> st.SearchStrategy[str]:
    """Names that the filters are asked about."""
    return st.sampled_from(_NAMES) | texts()


# ------------------------------------------------------------ policies

ALIASES = st.sampled_from(["A", "B", "east", "us-west", "a.b", "a_b", "1", "heartbeats", "mm2", "x"])
_SEPARATORS = st.sampled_from([".", "_", "-", "__", "..", "x", "xx", "a", "_a_", ".-", " ", "$", "|", "é", "internal"])
_WORDS = [
    "orders",
    "o",
    "a",
    "A",
    "B",
    "east",
    "us-west",
    "1",
    "",
    "heartbeats",
    "myheartbeats",
    "checkpoints",
    "internal",
    "mm2",
    "mm2-offsets",
]
_WORDS += ["mm2-offset-syncs", "__consumer_offsets", "mm2-ledger", "mm2-control", "x", "replica"]


def topic_names() -> st.SearchStrategy[str]:
    """Names of remote, internal and ordinary topics and what looks like them, under any separator."""
    parts = st.sampled_from(_WORDS)
    return (
        st.builds(lambda separator, parts: separator.join(parts), _SEPARATORS, st.lists(parts, min_size=1, max_size=5))
        | st.builds(str.__add__, parts, parts)
        | st.text("ab._-x", max_size=8)
    )


def policy_properties() -> st.SearchStrategy[dict[str, str]]:
    """What a policy is configured with."""
    flags = st.sampled_from(["true", "false", "TRUE", "False", " true", "false ", "yes", ""])
    return st.fixed_dictionaries(
        {},
        optional={
            "replication.policy.separator": _SEPARATORS,
            "replication.policy.internal.topic.separator.enabled": flags,
            "source.cluster.alias": ALIASES,
        },
    )
