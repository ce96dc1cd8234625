"""The doctor tries each right that Executor needs at the object store, and shows no credential."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from executor.daemon.doctor.check import Check
from executor.daemon.doctor.objects import check_objects
from executor.errors import InvalidRequest
from executor.settings import Settings
from tests.support import object_store
from tests.support.object_store import FaultyProxy

SECRET = "wJalrXUtnFEMI"


@pytest.fixture(scope="module")
def proxy() -> Iterator[FaultyProxy]:
    with object_store.serving_moto() as url:
        made = FaultyProxy(url)
        yield made
        made.close()


def load(folder: Path, url: str) -> Settings:
    file = folder / "credentials"
    if not file.exists():
        file.write_text(f"[default]\naws_access_key_id = AKID\naws_secret_access_key = {SECRET}\n")
    environ = {"EXECUTOR_DATA_DIR": str(folder), "EXECUTOR_ARTIFACTS_CREDENTIALS_FILE": str(file)}
    return Settings.load({**environ, "EXECUTOR_ARTIFACTS_URL": url})


def look(folder: Path, url: str) -> Check:
    [found] = check_objects(load(folder, url))
    assert SECRET not in str(found)
    return found


def test_a_store_with_every_right_is_ok_and_is_left_as_it_was(proxy: FaultyProxy, tmp_path: Path) -> None:
    found = look(tmp_path, f"s3://artifacts/p?endpoint={proxy.url}&region=us-east-1")
    assert found.status == "ok" and "read a part, list and delete work" in found.message
    assert any(request.startswith("POST /artifacts?delete") for request in proxy.requests)


@pytest.mark.parametrize(("fault", "said"), [("refuse", "can't be written"), ("full", "QuotaExceeded")])
def test_what_is_wrong_is_said_with_what_to_do(proxy: FaultyProxy, tmp_path: Path, fault: object, said: str) -> None:
    proxy.fail(fault)  # type: ignore[arg-type]
    try:
        found = look(tmp_path, f"s3://artifacts/p?endpoint={proxy.url}&region=us-east-1")
    finally:
        proxy.fail("")
    assert found.status == "failure" and said in found.message and "s3:PutObject" in found.hint


def test_a_bucket_that_does_not_exist_is_named(proxy: FaultyProxy, tmp_path: Path) -> None:
    found = look(tmp_path, f"s3://elsewhere/p?endpoint={proxy.url}&region=us-east-1")
    assert found.status == "failure" and "NoSuchBucket" in found.message and "s3://elsewhere/p" in found.message


@pytest.mark.parametrize(
    "text", ["", "[other]\n", f"[default]\naws_secret_access_key={SECRET}\n", f"{SECRET}\n[", "\0"]
)
def test_credentials_that_can_not_be_read_are_reported_without_them(
    proxy: FaultyProxy, tmp_path: Path, text: str
) -> None:
    (tmp_path / "credentials").write_text(text)
    found = look(tmp_path, f"s3://artifacts/p?endpoint={proxy.url}&region=us-east-1")
    assert found.status == "failure" and str(tmp_path / "credentials") in found.message


def test_without_the_setting_nothing_is_tried(tmp_path: Path) -> None:
    [found] = check_objects(Settings.load({"EXECUTOR_DATA_DIR": str(tmp_path)}))
    assert found.status == "ok" and "in the database" in found.message


@pytest.mark.parametrize(
    "url",
    [
        "https://bucket/prefix",
        "s3://",
        "s3://B_UCKET/p",
        "s3://bucket/../p",
        "s3://bucket/a b",
        "s3://bucket/p#f",
        f"s3://AKID:{SECRET}@bucket/p",
        f"s3://bucket/p?secret_access_key={SECRET}",
        f"s3://bucket/p?endpoint=https://AKID:{SECRET}@host",
        "s3://bucket/p?endpoint=ftp://host",
        "s3://bucket/p?endpoint=https://",
        "s3://bucket/p?region=a&region=b",
        "s3://bucket/p?style=virtual",
    ],
)
def test_an_address_that_is_none_or_has_credentials_is_refused_and_not_repeated(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        load(tmp_path, url)
    assert SECRET not in refused.value.message + refused.value.hint
