"""Writes the CloudFormation template that SAM makes of ours, without the network.

    transform.py template.yaml target/template.json

The output's `Metadata.Source` is the SHA-256 of what it was made from, so that whoever reads it can
tell whether it is up to date.
"""

import hashlib
import json
import logging
import os
import sys
from pathlib import Path

# The translator asks for a region to know the partition, and for nothing else.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samcli.yamlhelper import yaml_parse  # noqa: E402
from samtranslator.parser.parser import Parser  # noqa: E402
from samtranslator.translator.translator import Translator  # noqa: E402

# It warns of metrics of its own that nobody collects, and of switches that only AWS can turn.
for talkative in ("samtranslator.metrics", "samtranslator.feature_toggle"):
    logging.getLogger(talkative).setLevel(logging.ERROR)

# Where `sam build` would put a function's code.
ARTIFACT = "s3://artifacts/function.zip"

# AWS's own policies by name, which SAM asks IAM for. The template uses none.
NO_POLICIES = {}


def transform(source: str) -> dict:
    """The CloudFormation template for the text of a SAM template."""
    template = yaml_parse(source)
    template.get("Globals", {}).get("Function", {}).pop("CodeUri", None)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource.setdefault("Properties", {})["CodeUri"] = ARTIFACT
        elif resource["Type"] == "AWS::Lambda::Function":
            resource["Properties"]["Code"] = {"S3Bucket": "artifacts", "S3Key": "function.zip"}
    transformed = Translator(NO_POLICIES, Parser()).translate(template, parameter_values={})
    transformed["Metadata"] = {"Source": hashlib.sha256(source.encode()).hexdigest()}
    return transformed


def main(source: str, target: str) -> None:
    transformed = transform(Path(source).read_text(encoding="utf-8"))
    Path(target).write_text(json.dumps(transformed, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
