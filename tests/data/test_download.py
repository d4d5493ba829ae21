"""Downloads and archives that break in the middle, from a real server on this machine."""

from __future__ import annotations

import hashlib
import io
import multiprocessing
import os
import resource
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archives import FileServer, serve
from torchvision.datasets import CIFAR10, CIFAR100
from torchvision.datasets.inaturalist import DATASET_URLS

from pauc_lightning.data import fashion_mnist, inaturalist, tiny_imagenet
from pauc_lightning.data.download import Archive, fetch, fetch_and_unpack
from pauc_lightning.data.storage import prepare
from pauc_lightning.errors import InputError

CONTENT = os.urandom(3_000_000)
FORK = multiprocessing.get_context("fork")  # importing torch anew would take most of the time


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serve({"file.bin": CONTENT}) as running:
        yield running


def archive_of(server: FileServer, name: str = "file.bin", content: bytes | None = None) -> Archive:
    content = server.files[name] if content is None else content
    return Archive(server.url(name), name, hashlib.md5(content).hexdigest())


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}


def test_fetches_once(server: FileServer, tmp_path: Path) -> None:
    for _ in range(2):
        path = fetch(archive_of(server), tmp_path / "new" / "folder")
        assert path.read_bytes() == CONTENT
    assert server.starts == [0]


def test_continues_what_an_earlier_run_left(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file.bin.unfinished").write_bytes(CONTENT[:1_234_567])
    assert fetch(archive_of(server), tmp_path).read_bytes() == CONTENT
    assert server.starts == [1_234_567]
    assert names(tmp_path) == {"file.bin"}


def test_continues_when_the_connection_breaks(server: FileServer, tmp_path: Path) -> None:
    server.break_after = 1_000_000
    assert fetch(archive_of(server), tmp_path).read_bytes() == CONTENT
    assert server.starts == [0, 1_000_000, 2_000_000]


def test_begins_anew_if_the_server_cannot_continue(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file.bin.unfinished").write_bytes(CONTENT[:1000])
    server.ranges = False
    assert fetch(archive_of(server), tmp_path).read_bytes() == CONTENT


def test_a_beginning_longer_than_the_file_is_thrown_away(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file.bin.unfinished").write_bytes(CONTENT + b"more")
    assert fetch(archive_of(server), tmp_path).read_bytes() == CONTENT


def test_a_wrong_file_gets_no_name(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="MD5 sum"):
        fetch(archive_of(server, content=b"something else"), tmp_path)
    assert names(tmp_path) == set()


def test_a_beginning_of_another_file_is_noticed(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file.bin.unfinished").write_bytes(b"x" * 1000)
    with pytest.raises(InputError, match="MD5 sum"):
        fetch(archive_of(server), tmp_path)
    assert fetch(archive_of(server), tmp_path).read_bytes() == CONTENT  # the second run begins anew


def test_a_damaged_file_that_is_there_is_not_used(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(CONTENT[:-1])
    with pytest.raises(InputError, match=r"file\.bin is damaged.*Delete it"):
        fetch(archive_of(server), tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT[:-1]  # the user's file is left to the user


def test_without_a_connection_the_message_says_where_to_put_the_file(
    server: FileServer, tmp_path: Path
) -> None:
    missing = Archive(server.url("nothing.bin"), "nothing.bin", "0" * 32)
    with pytest.raises(InputError, match=r"cannot download .*404, Not Found.*nothing\.bin yourself"):
        fetch(missing, tmp_path)
    gone = archive_of(server)._replace(url="http://127.0.0.1:9/file.bin")
    (tmp_path / "file.bin.unfinished").write_bytes(CONTENT[:1000])
    with pytest.raises(InputError, match="cannot download"):
        fetch(gone, tmp_path)
    assert (tmp_path / "file.bin.unfinished").stat().st_size == 1000  # kept for the next run


def zip_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, content in files.items():
            zip_file.writestr(name, content)
    return buffer.getvalue()


def tar_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar_file:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar_file.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize(("name", "pack"), [("a.zip", zip_of), ("a.tar.gz", tar_of)])
def test_unpacks_and_renames(server: FileServer, tmp_path: Path, name: str, pack: object) -> None:
    assert callable(pack)
    server.files[name] = pack({"top/a.txt": b"first", "top/sub/b.txt": b"second"})
    for _ in range(2):
        folder = fetch_and_unpack(archive_of(server, name), tmp_path, "top", "here")
        assert folder == tmp_path / "here"
        assert (folder / "a.txt").read_bytes() == b"first"
        assert (folder / "sub" / "b.txt").read_bytes() == b"second"
    assert names(tmp_path) == {"here", name}
    assert server.starts == [0]
    # What is there is not looked at again, even when the archive is gone.
    (tmp_path / name).unlink()
    assert fetch_and_unpack(archive_of(server, name), tmp_path, "top", "here").is_dir()


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_a_corrupted_archive_leaves_no_folder(server: FileServer, tmp_path: Path, name: str) -> None:
    pack = zip_of if name == "a.zip" else tar_of
    whole = pack({f"top/{i}.bin": os.urandom(20_000) for i in range(20)})
    damaged = bytearray(whole)
    damaged[len(whole) // 2 : len(whole) // 2 + 2000] = os.urandom(2000)
    server.files[name] = bytes(damaged)
    # The checksum catches it ...
    with pytest.raises(InputError, match="MD5 sum"):
        fetch_and_unpack(archive_of(server, name, whole), tmp_path, "top")
    assert names(tmp_path) == set()
    # ... and if the checksum itself is that of the damaged file, unpacking does.
    with pytest.raises(InputError, match="cannot unpack"):
        fetch_and_unpack(archive_of(server, name), tmp_path, "top")
    assert "top" not in names(tmp_path)
    (tmp_path / name).unlink()
    server.files[name] = whole
    folder = fetch_and_unpack(archive_of(server, name), tmp_path, "top")
    assert len(list(folder.iterdir())) == 20
    assert names(tmp_path) == {"top", name}


def test_an_archive_with_other_contents_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.files["a.zip"] = zip_of({"other/a.txt": b""})
    with pytest.raises(InputError, match=r"a\.zip has no folder top.*Delete it"):
        fetch_and_unpack(archive_of(server, "a.zip"), tmp_path, "top")
    assert names(tmp_path) == {"a.zip"}


def tar_with(*members: tarfile.TarInfo) -> bytes:
    """A tar file with a harmless entry, then these."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar_file:
        harmless = tarfile.TarInfo("top/a.txt")
        harmless.size = 5
        tar_file.addfile(harmless, io.BytesIO(b"first"))
        for member in members:
            tar_file.addfile(member, io.BytesIO(bytes(member.size)))
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, size
    return info


def zip_link() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zip_file:
        info = zipfile.ZipInfo("top/link")
        info.external_attr = 0o120777 << 16
        zip_file.writestr(info, "/etc/passwd")
    return buffer.getvalue()


TRAPS = {
    "symlink.tar": (tar_with(member("top/link", tarfile.SYMTYPE, "/etc")), "a symbolic link, 'top/link'"),
    "inner.tar": (tar_with(member("top/link", tarfile.SYMTYPE, "a.txt")), "a symbolic link"),
    "hardlink.tar": (tar_with(member("top/link", tarfile.LNKTYPE, "top/a.txt")), "a hard link, 'top/link'"),
    "device.tar": (tar_with(member("top/null", tarfile.CHRTYPE)), "a device or pipe, 'top/null'"),
    "pipe.tar": (tar_with(member("top/pipe", tarfile.FIFOTYPE)), "a device or pipe"),
    "absolute.tar": (
        tar_with(member("/absolute/outside.txt")),
        "leads out of its folder, '/absolute/outside.txt'",
    ),
    "parent.tar": (tar_with(member("top/../../outside.txt")), "leads out of its folder"),
    "bomb.tar": (tar_with(member("top/zeros", size=3_000_000)), "more than 2,000,000 bytes"),
    "many.tar": (
        tar_with(*(member(f"top/{i}", size=300_000) for i in range(10))),
        "more than 2,000,000 bytes",
    ),
    "symlink.zip": (zip_link(), "a symbolic link, 'top/link'"),
    "absolute.zip": (zip_of({"/absolute/outside.txt": b""}), "leads out of its folder"),
    "parent.zip": (zip_of({"top/a.txt": b"", "../outside.txt": b"trap"}), "leads out of its folder"),
    "bomb.zip": (zip_of({"top/a.txt": b"", "top/zeros": bytes(3_000_000)}), "more than 2,000,000 bytes"),
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_is_refused_and_nothing_of_it_remains(server: FileServer, tmp_path: Path, name: str) -> None:
    content, message = TRAPS[name]
    server.files[name] = content
    folder = tmp_path / "deep" / "folder"
    archive = archive_of(server, name)._replace(largest=2_000_000)
    with pytest.raises(InputError, match=rf"{name} has .*{message}.*Delete it"):
        fetch_and_unpack(archive, folder, "top")
    assert names(folder) == {name}
    assert not list(tmp_path.rglob("outside.txt"))
    assert not Path("/absolute/outside.txt").exists()


def test_an_encrypted_archive_is_refused(server: FileServer, tmp_path: Path) -> None:
    content = bytearray(zip_of({"top/a.txt": b"secret"}))
    content[6] |= 1  # the local header's flag, and that of the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    server.files["a.zip"] = bytes(content)
    with pytest.raises(InputError, match=r"cannot unpack .*a\.zip: .*encrypted"):
        fetch_and_unpack(archive_of(server, "a.zip"), tmp_path, "top")
    assert names(tmp_path) == {"a.zip"}


def test_a_file_in_place_of_the_folder_is_named(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "top").write_text("in the way")
    with pytest.raises(InputError, match=r"top is not a folder.*move it away"):
        fetch_and_unpack(archive_of(server), tmp_path, "top")


def test_downloads_are_over_https(server: FileServer, tmp_path: Path) -> None:
    for url in ("http://example.org/file.bin", "ftp://example.org/file.bin", "file:///etc/passwd"):
        with pytest.raises(InputError, match=f"{url} is not fetched: downloads are over https only"):
            fetch(Archive(url, "file.bin", "0" * 32), tmp_path)
    server.redirects["moved.bin"] = "http://example.org/file.bin"
    moved = archive_of(server)._replace(url=server.url("moved.bin"))
    with pytest.raises(InputError, match=r"example\.org/file\.bin is not fetched"):
        fetch(moved, tmp_path)
    server.redirects["moved.bin"] = server.url("file.bin")
    assert fetch(moved, tmp_path).read_bytes() == CONTENT


def test_every_address_of_the_project_is_https() -> None:
    addresses = [
        CIFAR10.url,
        CIFAR100.url,
        tiny_imagenet._ARCHIVE.url,
        fashion_mnist._MIRROR,
        *(DATASET_URLS[name] for name in inaturalist._FOLDERS),
    ]
    assert [url for url in addresses if not url.startswith("https://")] == []


def test_a_full_disk_is_named_with_the_address(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file.bin.unfinished").symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"cannot write http.*file\.bin to .*No space left.*yourself"):
        fetch(archive_of(server), tmp_path)
    assert server.starts == [0]  # trying again would not help


def unpack_with_small_files_only(archive: Archive, folder: Path, result: Any) -> None:
    """What a disk quota does: this process may write no file larger than 1 MB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    try:
        fetch_and_unpack(archive, folder, "top")
    except InputError as error:
        result.put(str(error))


def test_a_disk_that_fills_up_while_unpacking(server: FileServer, tmp_path: Path) -> None:
    server.files["a.zip"] = zip_of({"top/a.txt": b"", "top/zeros": bytes(1_500_000)})
    result = FORK.Queue()
    process = FORK.Process(
        target=unpack_with_small_files_only, args=(archive_of(server, "a.zip"), tmp_path, result)
    )
    process.start()
    message = result.get(timeout=30)
    process.join()
    assert "cannot unpack" in message
    assert "File too large" in message
    assert "Make room there" in message
    assert names(tmp_path) == {"a.zip"}


def test_a_server_that_does_not_stop_is_stopped(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sends more than 1,000,000 bytes"):
        fetch(archive_of(server)._replace(largest=1_000_000), tmp_path)


def test_a_length_that_is_no_number_is_passed_over(server: FileServer, tmp_path: Path) -> None:
    server.headers["Content-Length"] = "many"
    assert fetch(archive_of(server), tmp_path).read_bytes() == CONTENT


def test_a_folder_in_place_of_the_file_is_named(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file.bin").mkdir()
    with pytest.raises(InputError, match=r"file\.bin cannot be read: Is a directory"):
        fetch(archive_of(server), tmp_path)


def half_make(path: Path, begun: Any) -> None:
    """Hold the lock with half of the work done, until killed."""

    def make(place: Path) -> None:
        place.mkdir()
        (place / "half").write_text("half")
        begun.set()
        time.sleep(60)

    prepare(path, make)


def test_a_killed_preparation_is_done_again_and_others_wait_for_a_live_one(tmp_path: Path) -> None:
    path = tmp_path / "prepared"
    begun = FORK.Event()
    process = FORK.Process(target=half_make, args=(path, begun))
    process.start()
    assert begun.wait(timeout=30)
    made: list[str] = []

    def make(place: Path) -> None:
        made.append("here")
        place.mkdir()
        (place / "whole").write_text("whole")

    thread = threading.Thread(target=prepare, args=(path, make))
    thread.start()
    time.sleep(0.3)
    assert not made  # the other process holds the lock
    assert not path.exists()
    process.kill()
    process.join()
    thread.join(timeout=30)
    assert made == ["here"]
    assert [child.name for child in path.iterdir()] == ["whole"]


def test_of_several_processes_one_downloads(server: FileServer, tmp_path: Path) -> None:
    server.files["a.zip"] = zip_of({f"top/{i}": os.urandom(10_000) for i in range(3)})
    arguments = (archive_of(server, "a.zip"), tmp_path, "top")
    processes = [FORK.Process(target=fetch_and_unpack, args=arguments) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert sorted(child.name for child in (tmp_path / "top").iterdir()) == ["0", "1", "2"]
    assert server.starts == [0]


def test_of_several_threads_one_prepares(tmp_path: Path) -> None:
    made: list[int] = []

    def make(place: Path) -> None:
        made.append(1)
        time.sleep(0.1)
        place.write_text("done")

    threads = [threading.Thread(target=prepare, args=(tmp_path / "file", make)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert (tmp_path / "file").read_text() == "done"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot write to"):
        prepare(tmp_path / "file" / "below", lambda place: None)


def test_a_failed_preparation_leaves_nothing(tmp_path: Path) -> None:
    def make(place: Path) -> None:
        place.mkdir()
        (place / "half").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(tmp_path / "prepared", make)
    assert names(tmp_path) == set()
