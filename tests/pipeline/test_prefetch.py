"""Items are read one ahead, in another thread."""

import threading

from omvfs.pipeline.prefetch import prefetch


def test_items_are_fetched_one_ahead_and_no_further():
    fetched = []

    def items():
        for i in range(10):
            fetched.append(i)
            yield i

    reader = prefetch(items())
    assert next(reader) == 0
    threading.Event().wait(0.3)
    assert fetched in ([0, 1], [0, 1, 2])
    reader.close()
    assert len(fetched) <= 3
    assert not [t for t in threading.enumerate() if t.name == "omvfs reader"]
