//! Every fragment, by name.

use super::Fragment;

macro_rules! fragments {
    ($($(#[$doc:meta])* $name:ident = $file:literal, $max:literal;)*) => {
        $($(#[$doc])*
        pub const $name: Fragment = Fragment {
            name: $file,
            max_chars: $max,
            en: include_str!(concat!("../../../../prompts/en/", $file, ".md")),
            zh: include_str!(concat!("../../../../prompts/zh/", $file, ".md")),
        };)*

        /// Every fragment, for tests and checks.
        pub const ALL: &[Fragment] = &[$($name),*];
    };
}

fragments! {
    /// The instructions of the ReAct agent.
    REACT_SYSTEM = "react/system", 60_000;
    /// The end of every request of the loop.
    REACT_NEXT_STEP = "react/next_step", 70_000;
    /// The request of the call that writes the closing summary.
    REACT_SUMMARY = "react/summary", 200_000;
    /// The instructions of the planner.
    PLAN_SYSTEM = "plan/system", 60_000;
    /// The end of the planner's requests after the first.
    PLAN_NEXT_STEP = "plan/next_step", 70_000;
    /// The results of a round of tasks.
    PLAN_ROUND = "plan/round", 1_200_000;
    /// The plan after a command.
    PLAN_CHANGED = "plan/changed", 300_000;
    /// The instructions of a task's agent.
    TASK_SYSTEM = "task/system", 60_000;
    /// The question of a task: the run's question, the step, and the earlier reports.
    TASK_QUESTION = "task/question", 1_200_000;
    /// The end of every request of a task's loop.
    TASK_NEXT_STEP = "task/next_step", 10_000;
    /// The request for the digital employees of a task's tools.
    TASK_EMPLOYEES = "task/employees", 40_000;
    /// The instructions of a named agent, around the text of the agent's file.
    AGENT_INSTRUCTIONS = "agent/instructions", 120_000;
    /// The question of a named agent.
    AGENT_QUESTION = "agent/question", 400_000;
    /// The end of a named agent's last request.
    AGENT_LAST_STEP = "agent/last_step", 1_000;
    /// The output style `html`.
    STYLE_HTML = "style/html", 1_000;
    /// The output style `docs`.
    STYLE_DOCS = "style/docs", 1_000;
    /// The output style `table`.
    STYLE_TABLE = "style/table", 1_000;
    /// The output style `ppt`.
    STYLE_PPT = "style/ppt", 1_000;
    /// The model's description of `file_tool`.
    TOOL_FILE = "tool/file_tool", 3_000;
    /// The planner's description of `planning`.
    TOOL_PLANNING = "tool/planning", 3_000;
    /// The model's description of `ask_user`.
    TOOL_ASK_USER = "tool/ask_user", 2_000;
    /// The agent's description of `give_verdict`.
    TOOL_VERDICT = "tool/give_verdict", 2_000;
    /// The agent's description of `python`.
    TOOL_PYTHON = "tool/python", 3_000;
    /// The agent's description of `look`.
    TOOL_LOOK = "tool/look", 1_000;
    /// The agent's description of `collect`.
    TOOL_COLLECT = "tool/collect", 1_000;
    /// The agent's description of `render`.
    TOOL_RENDER = "tool/render", 1_000;
    /// The model's description of `web_fetch`.
    TOOL_WEB_FETCH = "tool/web_fetch", 2_000;
    /// The agent's description of `search_round`.
    TOOL_SEARCH_ROUND = "tool/search_round", 2_000;
    /// The agent's description of `cite`.
    TOOL_CITE = "tool/cite", 1_000;
    /// A part of a web page.
    WEB_PAGE = "tool/web_page", 1_200_000;
    /// The error for an unreadable web page.
    WEB_PAGE_PROBLEM = "tool/web_page_problem", 2_000;
    /// The error for a job that the gateway rejected.
    WEB_REFUSED = "tool/web_refused", 2_000;
    /// The result of a tool that is a file, if the server's answer is empty.
    OUTSIDE_EMPTY = "tool/outside_empty", 500;
    /// The error of a tool that is a file.
    OUTSIDE_PROBLEM = "tool/outside_problem", 2_000;
    /// The description of a tool of an MCP server.
    SERVER_TOOL = "tool/server_tool", 3_000;
    /// The results of a search round.
    SEARCH_RESULT = "tool/search_result", 1_200_000;
    /// An answer with its sources.
    CITE_RESULT = "tool/cite_result", 1_200_000;
    /// The texts of a session's files.
    COLLECT_RESULT = "tool/collect_result", 1_200_000;
    /// The note about a rendered document.
    RENDER_RESULT = "tool/render_result", 20_000;
    /// The error for a document that could not be rendered.
    RENDER_PROBLEM = "tool/render_problem", 1_000;
    /// The result of a block of Python.
    PYTHON_RESULT = "tool/python_result", 200_000;
    /// Short descriptions of the files of a session.
    LOOK_RESULT = "tool/look_result", 100_000;
    /// The agent's description of `find_tables`.
    TOOL_FIND_TABLES = "tool/find_tables", 1_000;
    /// The agent's description of `run_sql`.
    TOOL_RUN_SQL = "tool/run_sql", 2_000;
    /// The agent's description of `find_insights`.
    TOOL_FIND_INSIGHTS = "tool/find_insights", 2_000;
    /// The findings in the rows of a result.
    INSIGHTS = "tool/insights", 20_000;
    /// The agent's description of `cite_queries`.
    TOOL_CITE_QUERIES = "tool/cite_queries", 1_000;
    /// An analysis with its queries.
    CITE_QUERIES_RESULT = "tool/cite_queries_result", 1_200_000;
    /// The tables of a session's files.
    TABLES_FOUND = "tool/tables_found", 200_000;
    /// A fact about a file that was read as tables.
    TABLE_NOTE = "tool/table_note", 4_000;
    /// The results of queries.
    QUERY_RESULTS = "tool/query_results", 200_000;
    /// A fact about the result of a query.
    QUERY_NOTE = "tool/query_note", 6_000;
    /// The error of a query.
    QUERY_PROBLEM = "tool/query_problem", 6_000;
    /// The error for an unreadable document.
    DOCUMENT_PROBLEM = "tool/document_problem", 1_000;
    /// The notes for the reader of a document.
    DOCUMENT_NOTE = "tool/document_note", 3_000;
    /// The error for a job that the sandbox did not do.
    SANDBOX_REFUSED = "tool/sandbox_refused", 2_000;
    /// The note that a file was written.
    FILE_WRITTEN = "tool/file_written", 1_000;
    /// A part of a file.
    FILE_READ = "tool/file_read", 1_200_000;
    /// The error for a missing file.
    FILE_MISSING = "tool/file_missing", 8_000;
    /// The error for a file without text.
    FILE_NOT_TEXT = "tool/file_not_text", 1_000;
    /// The error for an invalid file name or content.
    FILE_REFUSED = "tool/file_refused", 1_000;
    /// The error for an unreachable file store.
    FILE_UNAVAILABLE = "tool/file_unavailable", 1_000;
    /// The error for an unreachable tool source.
    TOOL_UNAVAILABLE = "tool/unavailable", 1_000;
    /// The output of a finished tool.
    OUTCOME_DONE = "outcome/done", 1_200_000;
    /// The cut output of a tool.
    OUTCOME_CUT = "outcome/cut", 1_200_000;
    /// The beginning and the end of a long text.
    OUTCOME_SHORTENED = "outcome/shortened", 1_200_000;
    /// The names of the images of a result, after the result's text.
    OUTCOME_IMAGES = "outcome/images", 1_200_000;
    /// The error for an unknown tool.
    OUTCOME_UNKNOWN_TOOL = "outcome/unknown_tool", 8_000;
    /// The error for a tool that changed after the offer.
    OUTCOME_TOOL_CHANGED = "outcome/tool_changed", 1_000;
    /// The error for invalid arguments.
    OUTCOME_BAD_ARGUMENTS = "outcome/bad_arguments", 4_000;
    /// The error for a command without a valid plan.
    OUTCOME_BAD_PLAN = "outcome/bad_plan", 4_000;
    /// The error of a failed tool.
    OUTCOME_ERROR = "outcome/error", 12_000;
    /// The error for a tool that timed out.
    OUTCOME_TIMED_OUT = "outcome/timed_out", 1_000;
    /// The error for a tool that crashed its process.
    OUTCOME_CRASHED = "outcome/crashed", 1_000;
    /// The note about an uncertain `once` call.
    OUTCOME_UNCERTAIN = "outcome/uncertain", 2_000;
    /// The error for too many calls in a reply.
    OUTCOME_TOO_MANY = "outcome/too_many", 1_000;
    /// The error for a call of an agent from the lowest level.
    OUTCOME_TOO_DEEP = "outcome/too_deep", 1_000;
    /// The error for a call that would have sent untrusted content out.
    OUTCOME_UNTRUSTED = "outcome/untrusted", 1_000;
    /// The note about a call that was stopped with its run.
    OUTCOME_STOPPED = "outcome/stopped", 1_000;
    /// The note about a call that a user rejected.
    OUTCOME_SKIPPED = "outcome/skipped", 1_000;
    /// The note about a call for which no user responded in time.
    OUTCOME_UNANSWERED = "outcome/unanswered", 1_000;
    /// A user's words in place of a call's result.
    OUTCOME_ANSWERED = "outcome/answered", 20_000;
    /// The note that a user changed a call's arguments.
    OUTCOME_CHANGED = "outcome/changed", 10_000;
    /// The user's answer to a clarification.
    OUTCOME_USER_ANSWER = "outcome/user_answer", 20_000;
    /// The note that the user did not answer a clarification.
    OUTCOME_NO_ANSWER = "outcome/no_answer", 1_000;
    /// The judgement of an answer that a reviewer did not accept.
    NOTE_REVIEW = "note/review", 400_000;
    /// The nudge after a reply that was cut off.
    NOTE_CUT_OFF = "note/cut_off", 1_000;
    /// The nudge after an empty reply.
    NOTE_EMPTY = "note/empty", 1_000;
    /// The nudge after a reply in words to a rejected plan.
    NOTE_NO_PLAN = "note/no_plan", 1_000;
    /// The nudge after an agent's answer in another format than the agent's file requires.
    NOTE_BAD_ANSWER = "note/bad_answer", 4_000;
    /// The results of the calls that an agent's file makes before the first turn.
    NOTE_PREPARED = "note/prepared", 1_200_000;
    /// The answers that an agent judges, under their letters.
    NOTE_ANSWERS = "note/answers", 1_200_000;
    /// The nudge after a call that returned the same result several times.
    NOTE_REPEATED = "note/repeated", 1_000;
    /// A user message to a run at work.
    NOTE_SAID = "note/said", 20_000;
    /// A user's changes of the plan while its steps ran.
    NOTE_PLAN_EDITED = "note/plan_edited", 60_000;
    /// A question with attached files.
    NOTE_ATTACHED = "note/attached", 450_000;
    /// The text of the message with the images of a question.
    NOTE_ATTACHED_IMAGES = "note/attached_images", 10_000;
    /// The text of the message with the images of a result.
    NOTE_IMAGES = "note/images", 10_000;
    /// The note about an unreadable image.
    NOTE_IMAGE_MISSING = "note/image_missing", 1_000;
    /// The note that older turns were left out.
    NOTE_LEFT_OUT = "note/left_out", 1_000;
    /// The explanation of placeholders for URLs.
    NOTE_URLS = "note/urls", 1_000;
    /// The explanation of masking in results.
    NOTE_MASKED = "note/masked", 1_000;
    /// The request to sum up older turns.
    COMPACT_REQUEST = "compact/request", 1_200_000;
    /// The summary of older turns.
    COMPACT_EARLIER = "compact/earlier", 60_000;
    /// Instructions for tool calls in text, for a model without native tool calls.
    STRUCT_PARSE = "model/struct_parse", 60_000;
    /// A tool result for a model without native tool calls.
    STRUCT_RESULT = "model/struct_result", 1_200_000;
    /// The untrusted frame around foreign text.
    FRAME = "frame/untrusted", 1_200_000;
    /// A user's question as a message.
    QUESTION = "conversation/question", 100_000;
    /// The answer to an earlier question of the session.
    ANSWER = "conversation/answer", 200_000;
    /// An exchange of another user of the session.
    OF_ANOTHER = "conversation/of_another", 300_000;
    /// The description of Djinn as a server of MCP.
    MCP_INSTRUCTIONS = "mcp/instructions", 2_000;
    /// The description of the server's tool `ask`.
    MCP_ASK = "mcp/ask", 2_000;
    /// The description of the server's tool `look`.
    MCP_LOOK = "mcp/look", 1_000;
    /// The description of the server's tool `say`.
    MCP_SAY = "mcp/say", 1_000;
    /// The description of the server's tool `stop`.
    MCP_STOP = "mcp/stop", 1_000;
    /// The state of a run without an answer.
    MCP_STATE = "mcp/state", 100_000;
}
