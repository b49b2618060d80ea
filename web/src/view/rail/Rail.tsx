import { MenuButton, MenuItem, MenuProvider } from "@ariakit/react";
import { lazy, memo, type ReactNode, Suspense, useMemo, useState } from "react";
import { VList } from "virtua";
import type { ConversationSummary } from "../../store/types";
import { useLanguage, useWords } from "../../words";
import { formatMoment } from "../../words/numbers";
import { Boundary } from "../parts/Boundary";
import { ErrorBox } from "../parts/ErrorBox";
import { Icon } from "../parts/Icon";
import menu from "../parts/menu.module.css";
import { PopMenu } from "../parts/PopMenu";
import parts from "../parts/parts.module.css";
import { hasUsers, useActions, usePage } from "../store";
import { RemoveDialog, RenameDialog } from "./dialogs";
import { type GroupName, groupConversations } from "./groups";
import styles from "./rail.module.css";

const ShareDialog = lazy(() => import("../share/ShareDialog").then(({ ShareDialog: view }) => ({ default: view })));

type RailRow =
  { readonly kind: "group"; readonly name: GroupName } | { readonly kind: "item"; readonly item: ConversationSummary };

/** The list of conversations. `onNavigate` closes the list where it covers the page. */
export function Rail({ onNavigate }: { onNavigate?: () => void }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const list = usePage((state) => state.conversations);
  const current = usePage((state) => state.route.session);
  const canSignOut = usePage(({ config, signIn }) => {
    if (config.state !== "ready") return false;
    const { kind, issuer } = config.value.signIn;
    return signIn.state === "signed_in" && (kind === "key" || issuer !== null);
  });
  const [dialog, setDialog] = useState<{ kind: "share" | "rename" | "remove"; item: ConversationSummary } | null>(null);
  const rows = useMemo<readonly RailRow[]>(
    () =>
      groupConversations(list.items, Date.now()).flatMap((group) => [
        { kind: "group" as const, name: group.name },
        ...group.items.map((item) => ({ kind: "item" as const, item })),
      ]),
    [list.items],
  );
  return (
    <nav className={styles.rail} aria-label={words.rail.label}>
      <div className={styles.head}>{words.page.name}</div>
      <button
        type="button"
        className={styles.new}
        onClick={() => {
          actions.open(null);
          onNavigate?.();
        }}
      >
        {words.rail.newQuestion}
      </button>
      <input
        className={styles.search}
        type="search"
        data-key="search"
        aria-label={words.rail.search}
        placeholder={words.rail.search}
        value={list.search}
        onChange={(event) => actions.search(event.target.value)}
      />
      {list.error && list.error.status !== 401 ? <ErrorBox error={list.error} onRetry={actions.retry} /> : null}
      {rows.length === 0 && !list.isLoading && !list.isSearching && !list.error ? (
        <p className={styles.none}>{list.search ? words.rail.noMatch : words.rail.none}</p>
      ) : null}
      <VList className={styles.list} data={rows} bufferSize={300} tabIndex={-1}>
        {(row) =>
          row.kind === "group" ? (
            <h2 key={row.name} className={styles.group}>
              {words.rail[row.name]}
            </h2>
          ) : (
            <Item
              key={row.item.session}
              item={row.item}
              isCurrent={row.item.session === current}
              onShare={() => {
                if (row.item.session !== current) actions.open(row.item.session);
                setDialog({ kind: "share", item: row.item });
              }}
              onRename={() => setDialog({ kind: "rename", item: row.item })}
              onRemove={() => setDialog({ kind: "remove", item: row.item })}
              onNavigate={onNavigate}
            />
          )
        }
      </VList>
      {list.hasMore ? (
        <button
          type="button"
          className={`${parts.quiet} ${styles.more}`}
          onClick={actions.loadMoreConversations}
          disabled={list.isLoading}
        >
          {words.rail.loadMore}
        </button>
      ) : null}
      {canSignOut ? (
        <div className={styles.foot}>
          <bdi className={styles.user} title={words.rail.signedInAs(list.user)}>
            {list.user}
          </bdi>
          <button type="button" className={parts.quiet} onClick={actions.signOut}>
            {words.rail.signOut}
          </button>
        </div>
      ) : null}
      {dialog?.kind === "share" ? (
        <Boundary>
          <Suspense>
            <ShareDialog onClose={() => setDialog(null)} />
          </Suspense>
        </Boundary>
      ) : null}
      {dialog?.kind === "rename" ? <RenameDialog item={dialog.item} onClose={() => setDialog(null)} /> : null}
      {dialog?.kind === "remove" ? <RemoveDialog item={dialog.item} onClose={() => setDialog(null)} /> : null}
    </nav>
  );
}

interface ItemProps {
  readonly item: ConversationSummary;
  readonly isCurrent: boolean;
  readonly onShare: () => void;
  readonly onRename: () => void;
  readonly onRemove: () => void;
  readonly onNavigate: (() => void) | undefined;
}

const Item = memo(function Item({ item, isCurrent, onShare, onRename, onRemove, onNavigate }: ItemProps): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const { rail } = words;
  const marks = {
    running: { style: styles.running, name: rail.markRunning },
    waiting: { style: styles.waiting, name: rail.markWaiting },
    unsent: { style: styles.unsent, name: rail.markUnsent },
  };
  const mark = item.mark === null ? null : marks[item.mark];
  return (
    <div className={isCurrent ? `${styles.item} ${styles.here}` : styles.item}>
      <a
        href={`#/s/${encodeURIComponent(item.session)}`}
        className={styles.link}
        aria-current={isCurrent ? "page" : undefined}
        title={item.title}
        onClick={onNavigate}
      >
        <span className={styles.title}>
          {mark ? <span className={`${styles.dot} ${mark.style}`} title={mark.name} aria-hidden="true" /> : null}
          <bdi>{item.title}</bdi>
        </span>
        {mark ? <span className="unseen">, {mark.name}</span> : null}
        <time className={styles.time}>{formatMoment(item.lastActiveAtMs, Date.now(), language)}</time>
        {item.owner === null ? null : (
          <span className={styles.detail}>
            {words.rail.by} <bdi>{item.owner}</bdi>
          </span>
        )}
        {item.foundText === null ? null : <bdi className={styles.detail}>{item.foundText}</bdi>}
      </a>
      {item.owner === null ? <ItemMenu item={item} onShare={onShare} onRename={onRename} onRemove={onRemove} /> : null}
    </div>
  );
});

/** The actions of a conversation's owner. */
function ItemMenu({ item, onShare, onRename, onRemove }: Omit<ItemProps, "isCurrent" | "onNavigate">): ReactNode {
  const words = useWords();
  const canShare = usePage(hasUsers);
  return (
    <MenuProvider placement="bottom-end">
      <MenuButton className={styles.actions} aria-label={words.rail.actions(item.title)}>
        <Icon name="more" />
      </MenuButton>
      <PopMenu>
        {canShare ? (
          <MenuItem className={menu.item} onClick={onShare}>
            {words.rail.share}
          </MenuItem>
        ) : null}
        <MenuItem className={menu.item} onClick={onRename}>
          {words.rail.rename}
        </MenuItem>
        <MenuItem className={`${menu.item} ${menu.danger}`} onClick={onRemove}>
          {words.rail.remove}
        </MenuItem>
      </PopMenu>
    </MenuProvider>
  );
}
