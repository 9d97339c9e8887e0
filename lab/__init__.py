"""Programs that put the mirror to a trial for minutes or hours, and write down what they saw: `bench` measures it beside MirrorMaker 2,
`faults` kills and cuts off at random, `trial` moves applications between clusters. They start what they need and stop it."""
