import pickle

from hypothesis import given
from hypothesis import strategies as st

from omvfs.wording import Clause, Sentence, Setting, sentence_of

names = st.text(max_size=5)
parts = st.one_of(
    names,
    st.builds(Setting, names, st.integers(), st.none() | names),
    st.builds(Clause, names, names),
)
sentences = st.lists(parts | st.builds(lambda each: Sentence(*each), st.lists(parts)))


@given(sentences)
def test_a_sentence_is_what_python_says(given):
    sentence = Sentence(*given)
    assert sentence == "".join(map(str, given)) == sentence.said(str)
    assert str(ValueError(sentence)) == sentence
    assert not any(isinstance(part, Sentence) for part in sentence.parts)


@given(sentences)
def test_a_place_says_its_own_words_and_nothing_else_changes(given):
    sentence = Sentence(*given)
    plain = [part for part in sentence.parts if isinstance(part, str)]
    assert sentence.said(lambda part: "") == "".join(plain)
    # An error that is told on keeps what can be said otherwise.
    on = Sentence("In row 3: ", sentence_of(ValueError(sentence)))
    assert on.said(lambda part: "?") == "In row 3: " + sentence.said(lambda part: "?")


@given(sentences)
def test_another_process_gets_what_can_be_read(given):
    sentence = Sentence(*given, Setting("criterion", lambda V: V))
    back = pickle.loads(pickle.dumps(ValueError(sentence)))
    assert type(back.args[0]) is str
    assert str(back) == sentence


def test_errors_that_say_nothing_or_much_are_said_as_they_are():
    for error in (ValueError(), OSError(2, "No such file", "x"), KeyError("x")):
        assert sentence_of(error) == str(error)
