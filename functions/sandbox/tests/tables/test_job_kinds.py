"""Tests of the jobs of each sandbox."""

import unittest
from unittest import mock

import job_kinds


class TestJobKinds(unittest.TestCase):
    def test_sandbox_for_documents_runs_no_code_and_the_other_no_documents(self):
        for sandbox, kind in ((job_kinds.DOCUMENTS, "python"), (job_kinds.DOCUMENTS, "look"), (job_kinds.CODE, "query"),
                              (job_kinds.CODE, "extract")):
            with mock.patch.dict(job_kinds._jobs, job_kinds._KINDS[sandbox], clear=True):
                self.assertRaises(KeyError, job_kinds.perform, kind, {}, 0, 0)

    def test_each_kind_belongs_to_one_sandbox(self):
        code, documents = (set(job_kinds._KINDS[sandbox]) for sandbox in (job_kinds.CODE, job_kinds.DOCUMENTS))
        self.assertEqual(code & documents, set())
