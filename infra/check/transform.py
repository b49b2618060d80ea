"""Transforms a SAM template into a CloudFormation template, without the network.

    transform.py template.yaml target/template.json

The output's `Metadata.Source` is the SHA-256 of the source, so that readers can detect an outdated
output.
"""

import hashlib
import json
import logging
import os
import sys
from pathlib import Path

# The translator needs a region only for the partition.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samcli.yamlhelper import yaml_parse  # noqa: E402
from samtranslator.parser.parser import Parser  # noqa: E402
from samtranslator.translator.translator import Translator  # noqa: E402

# The translator warns about its own metrics, and about feature switches of AWS.
for talkative in ("samtranslator.metrics", "samtranslator.feature_toggle"):
    logging.getLogger(talkative).setLevel(logging.ERROR)

# A placeholder for the location of a function's code after `sam build`.
ARTIFACT = "s3://artifacts/function.zip"

# AWS managed policies by name, which SAM requests from IAM. The template uses none.
NO_POLICIES = {}


def transform(source: str) -> dict:
    """Returns the CloudFormation template for the text of a SAM template."""
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
