// The store: the state of the page, and the actions on it.

import { type ErrorInfo, errorOf } from "../wire/error";
import { Routes } from "../wire/routes";
import { Server } from "../wire/server";
import { clockOffset, questionBody } from "./bodies";
import type { Browser } from "./browser";
import { clearEdits } from "./card_edits";
import { ConfigReader } from "./config_reader";
import { Conversations } from "./conversation_list";
import { Drafts, EMPTY_DRAFT, joinDrafts, joinTexts } from "./drafts";
import { ListWatch } from "./list_watch";
import { retryMessage, retryMessages, sendMessage } from "./messages";
import { OpenConversation } from "./open_conversation";
import { Outgoing } from "./outgoing";
import { Pending, type TakenBack } from "./pending";
import { formatAddress, parseAddress } from "./route";
import { changePlan, continueRun, readPlanVersion, respond, setKey, stop, stopOther } from "./run_actions";
import { loadDetail } from "./run_detail";
import { endShare, loadAudit, share } from "./share_actions";
import { SigningIn } from "./sign_in";
import { firstState, StateCell } from "./state";
import type { Actions, Draft, PageState, Store, Upload } from "./types";
import { Uploads } from "./uploads";
import { UserShelf } from "./user_shelf";

const MAX_NOTICES = 5;
/** The value by which a tab tells the others that its user signs out. */
const SIGNED_OUT = "signed_out";

/** Starts the page's store in this browser. `pageVersion` is the version of the page's own files. */
export function createStore(browser: Browser, pageVersion: string): Store {
  return new PageStore(browser, pageVersion);
}

class PageStore implements Store {
  readonly #browser: Browser;
  readonly #cell: StateCell;
  readonly #routes: Routes;
  readonly #config: ConfigReader;
  readonly #list: Conversations;
  readonly #watch: ListWatch;
  /** The user's drafts, choices and unsent questions on this device. */
  readonly #shelf: UserShelf;
  readonly #drafts: Drafts;
  readonly #uploads: Uploads;
  readonly #outgoing: Outgoing;
  readonly #signIn: SigningIn;
  readonly actions: Actions;
  #open: OpenConversation | null = null;
  /** The session of the conversation that has no question yet. */
  #newSession: string;

  constructor(browser: Browser, pageVersion: string) {
    this.#browser = browser;
    this.#shelf = new UserShelf(browser);
    this.#drafts = new Drafts(this.#shelf, browser.tab);
    this.#newSession = this.#drafts.loadNewSession() ?? browser.newId();
    const server = new Server(browser.fetch, (response, key) => this.#onResponse(response, key));
    this.#routes = new Routes(server);
    this.#cell = new StateCell(firstState(parseAddress(browser.address())));
    this.#config = new ConfigReader(browser, this.#cell, this.#routes, pageVersion);
    this.#signIn = new SigningIn(browser, server, this.#cell, {
      enter: () => this.#enter(),
      retry: () => this.#retryRejected(),
      onAddress: () => this.#onAddress(),
    });
    this.#list = new Conversations(this.#routes, this.#cell, this.#shelf, () => this.#onUser());
    this.#outgoing = new Outgoing(browser, this.#shelf, this.#routes, {
      openSession: () => (this.#cell.get().signIn.state === "signed_in" ? this.#cell.get().route.session : undefined),
      onAccepted: () => void this.#list.update(),
    });
    this.#watch = new ListWatch(browser, this.#cell, this.#list);
    this.#uploads = new Uploads(this.#routes, {
      update: (session, change) =>
        this.#changeDraft(session, (draft) => ({ ...draft, uploads: change(draft.uploads) })),
    });
    this.actions = this.#buildActions();
    browser.onAddress(() => this.#onAddress());
    browser.onDeviceValue((name, value) => {
      const { user } = this.#cell.get().conversations;
      if (name === SIGNED_OUT && (value.endsWith(` ${user}`) || user === "")) this.#signOut();
    });
    browser.onVisibility(() => this.#onVisibility());
    browser.onNetwork(() => this.#onNetwork());
    this.#goTo(this.#cell.get().route.session);
    void this.#start();
  }

  // Functions of their own, because React calls them without the store.
  readonly getState = (): PageState => this.#cell.get();
  readonly subscribe = (listener: () => void): (() => void) => this.#cell.subscribe(listener);

  async #start(): Promise<void> {
    await this.#config.read();
    await this.#signIn.start();
  }

  /** Loads what only a known caller may see. */
  async #enter(): Promise<void> {
    const modes = this.#routes.modes().then(
      ({ modes }) => this.#cell.set({ modes }),
      (error: unknown) => this.#notice(error),
    );
    await Promise.all([modes, this.#list.refresh()]);
    this.#outgoing.send();
    this.#dropUnknownMode();
  }

  /** The user is known: what was written before belongs to this user, or stays with another one. */
  #onUser(): void {
    const { config, conversations: { user }, draft, route } = this.#cell.get();
    const before = this.#shelf.user;
    if (user === "" || user === before) return;
    const isAlone = config.state === "ready" && config.value.signIn.kind === "none";
    const isAtWork = this.#open?.conversation.turns.at(-1)?.status === "sending" || this.#open?.activeRun != null;
    if (before !== "") {
      this.#open?.close();
      this.#open = null;
    }
    const pending = new Pending(this.#shelf);
    const questions = before === "" ? pending.takeAll() : [];
    // Each change of the box saves its choices.
    const isChanged = before === "" && this.#shelf.read("choices") !== null;
    if (before === "") {
      for (const prefix of ["draft", "messages:", "choices"]) this.#shelf.forget(prefix);
    } else {
      this.#uploads.cancelAll();
      this.#newSession = this.#browser.newId();
      this.#browser.tab.write("new_session", null);
    }
    this.#shelf.use(user, isAlone || this.#signIn.isRemembered);
    for (const [session, question] of questions.toReversed()) pending.save(session, question);
    this.#cell.set({ draft: this.#drafts.load(this.#draftSession()) });
    // A conversation that was read before goes on, unless this user has a question in it that is not sent.
    const hasUnsent = !isAtWork && route.session !== null && pending.load(route.session) !== null;
    if (before !== "" || hasUnsent) this.#goTo(route.session);
    if (!isChanged) return;
    this.#setDraft(joinDrafts(this.#cell.get().draft, draft));
  }

  #retry(): void {
    void this.#list.refresh();
    this.#open?.retry();
  }

  /** Tries again what was rejected without a valid key or token. */
  #retryRejected(): void {
    const { conversation, conversations, route } = this.#cell.get();
    if (conversations.error) void this.#list.refresh();
    if (conversation?.state === "failed") return this.#goTo(route.session);
    if (conversation?.state !== "ready") return;
    const { following, turns } = conversation.value;
    if (following.state === "failed" || turns.at(-1)?.status === "unsent") this.#open?.retry();
  }

  #dropUnknownMode(): void {
    const { modes, draft } = this.#cell.get();
    const standard = modes.find((mode) => mode.is_default) ?? modes[0];
    if (standard && !modes.some((mode) => mode.name === draft.mode)) {
      this.#cell.set({ draft: { ...draft, mode: standard.name } });
    }
  }

  #onResponse(response: Response, key: string | null): boolean | Promise<boolean> {
    const { clockOffsetMs: lastOffsetMs, isOnline } = this.#cell.get();
    const clockOffsetMs = clockOffset(response, this.#browser.now(), lastOffsetMs);
    if (clockOffsetMs !== lastOffsetMs || !isOnline) this.#cell.set({ clockOffsetMs, isOnline: true });
    return response.status === 401 && this.#signIn.onUnauthorized(response.clone(), key);
  }

  #onAddress(): void {
    const { session } = parseAddress(this.#browser.address());
    if (session !== this.#cell.get().route.session) this.#goTo(session);
  }

  #onVisibility(): void {
    this.#open?.onVisibility();
    this.#signIn.onVisibility();
    this.#watch.look();
    this.#config.onVisibility();
  }

  #onNetwork(): void {
    // Without a network, a server on this device may still answer: a request decides.
    if (!this.#browser.isOnline()) return void this.#config.read();
    this.#cell.set({ isOnline: true });
    this.#outgoing.send();
    if (!this.#open) return;
    this.#open.wake();
    retryMessages(this.#routes, this.#open);
  }

  /** Shows a conversation; null shows a new one. The address is already set. */
  #goTo(session: string | null): void {
    this.#open?.close();
    this.#open = null;
    const draftSession = session ?? this.#newSession;
    this.#cell.set({ route: { session }, conversation: null, draft: this.#drafts.load(draftSession) });
    this.#dropUnknownMode();
    this.#list.showAgain();
    this.#outgoing.send();
    if (session === null) return;
    this.#open = this.#conversationOf(session);
    void this.#open.load();
  }

  #conversationOf(session: string): OpenConversation {
    const open = new OpenConversation(session, {
      browser: this.#browser,
      shelf: this.#shelf,
      routes: this.#routes,
      show: (conversation) => {
        if (conversation.state === "ready") this.#list.keepAnswers(conversation.value);
        if (this.#open === open || this.#open === null) this.#cell.set({ conversation });
      },
      clock: () => this.#browser.now() + this.#cell.get().clockOffsetMs,
      onQuestion: (name, question) =>
        this.#list.touch(name, question.slice(0, 100), this.#browser.now() + this.#cell.get().clockOffsetMs),
      returnText: (name, text) => this.#changeDraft(name, (draft) => ({ ...draft, text: joinTexts(text, draft.text) })),
      onStatus: (name, mark) => this.#list.mark(name, mark),
    });
    return open;
  }

  #navigate(session: string | null): void {
    this.#browser.setAddress(formatAddress({ session }), false);
    this.#goTo(session);
  }

  // The draft.

  #draftSession(): string {
    return this.#cell.get().route.session ?? this.#newSession;
  }

  #setDraft(draft: Draft): void {
    this.#cell.set({ draft });
    this.#drafts.save(this.#draftSession(), draft, this.#newSession);
  }

  /** Changes the draft of a conversation, also of one that was left. */
  #changeDraft(session: string, change: (draft: Draft) => Draft): void {
    if (session === this.#draftSession()) return this.#setDraft(change(this.#cell.get().draft));
    this.#drafts.save(session, change(this.#drafts.load(session)), this.#newSession);
  }

  #send(): void {
    const { draft } = this.#cell.get();
    const text = draft.text.trim();
    if (text === "" || draft.uploads.some((upload) => upload.state !== "done")) return;
    const open = this.#open;
    // One question is on its way: this text waits in the box.
    if (open?.conversation.turns.at(-1)?.status === "sending") return;
    if (open && open.activeRun !== null) {
      // Another user's run takes no message, and the session no question beside it.
      if (open.conversation.turns.at(-1)?.isOwn === false) return;
      void sendMessage(this.#routes, open, this.#browser.newId(), text);
      return this.#setDraft({ ...draft, text: "" });
    }
    const unsent = this.#open?.conversation.turns.at(-1);
    // A question that was not sent makes room, and is back in the box.
    const taken = unsent?.status === "unsent" ? this.#open?.takeBack(unsent.key) : null;
    this.#ask(text, draft);
    this.#setDraft({ ...draft, text: "", uploads: [] });
    this.#putBack(taken);
  }

  #ask(question: string, draft: Draft): void {
    const names = draft.uploads.filter((upload) => upload.state === "done").map((upload) => upload.name);
    if (this.#open?.conversation.turns.at(-1)?.status === "sending") return;
    if (!this.#open) {
      const session = this.#newSession;
      // The draft of the new conversation is this question, and empty from now on.
      this.#drafts.save(session, EMPTY_DRAFT, session);
      this.#newSession = this.#browser.newId();
      this.#browser.setAddress(formatAddress({ session }), false);
      this.#open = this.#conversationOf(session);
      this.#cell.set({ route: { session } });
      this.#open.startNew();
    }
    this.#open.ask(questionBody(question, draft, names), names);
  }

  /** Puts a question that was not sent back into the box. */
  #putBack(taken: TakenBack | null | undefined): void {
    if (!taken) return;
    const { draft } = this.#cell.get();
    const uploads = taken.attachments.map((name): Upload => {
      return { id: this.#browser.newId(), name, size: 0, progress: 1, state: "done", error: null };
    });
    this.#setDraft({ ...draft, text: joinTexts(taken.text, draft.text), uploads: [...uploads, ...draft.uploads] });
  }

  /** Forgets the user and what the user wrote, in this tab. */
  #signOut(): void {
    this.#open?.close();
    this.#open = null;
    this.#uploads.cancelAll();
    this.#drafts.clear();
    this.#shelf.use("", true);
    clearEdits();
    this.#newSession = this.#browser.newId();
    this.#list.clear();
    this.#cell.set({ conversation: null, route: { session: null }, draft: EMPTY_DRAFT, notices: [] });
    this.#browser.setAddress("/", false);
    this.#signIn.signOut();
  }

  /** Signs the user out in all tabs. */
  #signOutEverywhere(): void {
    const { device } = this.#browser;
    device.write(SIGNED_OUT, `${this.#browser.newId()} ${this.#cell.get().conversations.user}`);
    device.write(SIGNED_OUT, null);
    this.#signOut();
  }

  #notice(error: unknown): void {
    const info = errorOf(error);
    // The dialog for the key says so.
    if (info.status === 401) return;
    const notice = { id: this.#browser.newId(), error: info };
    this.#cell.set(({ notices }) => ({ notices: [...notices, notice].slice(-MAX_NOTICES) }));
  }

  #buildActions(): Actions {
    /** Runs an action whose errors have no place of their own. */
    const attempt = (action: Promise<void> | undefined): void => {
      action?.catch((error: unknown) => this.#notice(error));
    };
    const withOpen = (action: (open: OpenConversation) => Promise<void>): void => {
      if (this.#open) attempt(action(this.#open));
    };
    const errorIn = async (action: (open: OpenConversation) => Promise<void>): Promise<ErrorInfo | null> => {
      try {
        if (this.#open) await action(this.#open);
        return null;
      } catch (error) {
        return errorOf(error);
      }
    };
    return {
      open: (session) => this.#navigate(session),
      loadMoreConversations: () => void this.#list.loadMore(),
      search: (text) => void this.#list.search(text),
      rename: (session, title) =>
        attempt(
          this.#list.rename(session, title).then(() => {
            if (this.#open?.session === session) this.#open.update({ title });
          }),
        ),
      remove: (session) =>
        attempt(
          this.#list.remove(session).then(() => {
            if (this.#cell.get().route.session === session) this.#navigate(null);
          }),
        ),
      loadOlderTurns: () => withOpen((open) => open.loadOlderTurns()),
      loadDetail: (run) => withOpen((open) => loadDetail(this.#routes, open, run)),
      retry: () => {
        if (this.#cell.get().config.state !== "ready") void this.#start();
        else this.#retry();
      },
      setDraft: (change) => this.#setDraft({ ...this.#cell.get().draft, ...change }),
      addFiles: (files) => {
        for (const file of files) this.#uploads.add(this.#draftSession(), this.#browser.newId(), file);
      },
      removeUpload: (id) => this.#uploads.remove(this.#draftSession(), id),
      retryUpload: (id) => this.#uploads.retry(id),
      send: () => this.#send(),
      resend: (key) => this.#open?.resend(key),
      stopOther: (key) => withOpen((open) => stopOther(this.#routes, this.#browser, open, key)),
      takeBack: (key) => this.#putBack(this.#open?.takeBack(key)),
      ask: (question) => this.#ask(question, { ...this.#cell.get().draft, uploads: [] }),
      stop: () => withOpen((open) => stop(this.#routes, open)),
      continueRun: () => withOpen((open) => continueRun(this.#routes, open, this.#browser.newId())),
      respond: (request, decision, comment) =>
        withOpen((open) => respond(this.#routes, open, request, decision, comment)),
      setKey: (request, key, value) => withOpen((open) => setKey(this.#routes, open, request, key, value)),
      respondGroup: (group, decision) =>
        withOpen((open) => respond(this.#routes, open, group, decision, undefined)),
      readPlanVersion: async () => (this.#open ? readPlanVersion(this.#routes, this.#open).catch(() => null) : null),
      changePlan: (steps, version) => withOpen((open) => changePlan(this.#routes, open, steps, version)),
      closePlanEdit: () => this.#open?.update({ planEdit: { state: "idle" } }),
      refreshBudget: () => withOpen((open) => open.readBudget().catch(() => undefined)),
      retryMessage: (id) => withOpen((open) => retryMessage(this.#routes, open, id)),
      share: (request) => errorIn((open) => share(this.#routes, open, request)),
      endShare: (handle) => errorIn((open) => endShare(this.#routes, open, handle)),
      loadAudit: (run) => loadAudit(this.#routes, run),
      signInWithKey: (key, isRemembered) => attempt(this.#signIn.withKey(key, isRemembered)),
      signInAtIssuer: () => attempt(this.#signIn.atIssuer()),
      signOut: () => this.#signOutEverywhere(),
      dismissNotice: (id) =>
        this.#cell.set(({ notices }) => ({ notices: notices.filter((notice) => notice.id !== id) })),
    };
  }
}
