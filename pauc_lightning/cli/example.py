"""``pauc example``: a table to try the other commands on."""

from __future__ import annotations

from collections.abc import Sequence

from pauc_lightning.cli.plain_parser import PlainParser

DESCRIPTION = """\
Write an example table to try the other commands on: claims.csv, 20,000 claims of a car insurance, of which 5 % are
fraud, and new_claims.csv, 2,000 claims whose outcome is not known yet. Both are made up, and always the same.
"""


def main(argv: Sequence[str]) -> None:
    """Write the two files and print the command to type next."""
    parser = PlainParser(prog="pauc example", usage="pauc example [FOLDER]", description=DESCRIPTION)
    parser.add_argument("folder", nargs="?", default=".", help="where the files go")
    given = parser.parse_args(argv)
    from pauc_lightning.data.example_claims import write_example_claims

    claims, new = write_example_claims(given.folder)
    print(f"Wrote {claims}: 20,000 claims with their outcome, and {new}: 2,000 claims without it.")
    print(
        f"Next:  pauc data -c tabular --data.path {claims} --data.label outcome --data.positive_values fraud "
        "--data.id_column claim_id --data.missing impute"
    )
