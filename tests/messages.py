"""How tests read a message."""

import pytest


def refuses(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    message = str(caught.value)
    assert [word for word in words if word not in message] == [], message
