"""Small files in the formats of the paper's sets."""

import gzip
import io
import tarfile

import numpy as np
import scipy.sparse as sp
from scipy.io import savemat

LANGUAGES = ("EN", "FR", "GR", "IT", "SP")


def write_tar(path, files, mode="w"):
    """Write an archive of files by name, text or bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, mode) as tar:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def reuters_files():
    """Two documents written in each language, in all five; the second one has no words."""
    return {
        f"rcv1rcv2aminigoutte/{language}/Index_{written}-{language}": (
            f"C15 1:{place + 1}.5 {10 + place}:-0.25 \nM11 \n"
        )
        for place, language in enumerate(LANGUAGES)
        for written in LANGUAGES
    }


def reuters_archive(home, files=None):
    path = home / "reuters" / "rcv1rcv2aminigoutte.tar.bz2"
    return write_tar(path, reuters_files() if files is None else files, "w:bz2")


def youtube_files():
    """Videos 1 to 12 in training, two more in each other part; some lack tags, some sound."""
    parts = {"train": range(1, 13), "validation": (201000, 201001), "test": (301000, 301001)}
    files = {}
    for part, numbers in parts.items():
        tags = sound = "# a comment\n\n"
        for n in numbers:
            label = 31 if n % 3 == 0 else n % 30 + 1
            if n != 4:
                tags += f"#I {n}\n{label} 7:1 {1_000_000 + n}:0.5\n"
            if n != 5:
                sound += f"#I {n}\n{label} 1:0.25  2000:0.75\n"
        files[f"dir_data/{part}/text_tag_unigrams.txt.gz"] = tags
        files[f"dir_data/{part}/audio_mfcc.txt.gz"] = sound
    return files


def youtube_archive(home, files=None):
    files = youtube_files() if files is None else files
    packed = {
        name: gzip.compress(text.encode()) if isinstance(text, str) else text
        for name, text in files.items()
    }
    return write_tar(home / "youtube" / "dir_data.tar", packed)


def news_files(home, name="FOX", n_classes=4, n=9, **other):
    """Write the three files of CNN or FOX; `other` has variables to write instead."""
    folder = home / name.lower()
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    member = np.eye(n_classes)[np.arange(n) % n_classes]
    variables = {
        "TFIDF_Normalized": sp.csc_array(rng.random((20, n)) * (rng.random((20, n)) < 0.3)),
        "imageFeatureNormalizedMat": rng.random((6, n)),
        "labelMat": sp.csc_array(member),
        **other,
    }
    ends = ("TFIDF_Normalized", "ImageFeatureNormalizedMat", "LabelMat")
    for end, variable in zip(ends, variables, strict=True):
        savemat(folder / f"{name}_{end}.mat", {variable: variables[variable]})
    return variables
