/**
 * The public module `patchbay/console`: the parts of the console that pages of plugins use. Bundled plugins' pages are built
 * with it; pages from elsewhere import it in the browser, where it is the copy that the console itself uses. Besides its exports,
 * importing it defines the elements `pb-copy`, `pb-json`, `pb-table` and `pb-time`.
 */

export { css, html, LitElement, nothing, type PropertyValues, svg, type TemplateResult } from 'lit'
export { csvCell } from '../core/domain/text/csv-cell.ts'
export { quotedWords } from '../core/domain/text/quoted-words.ts'
export { visibleName } from '../core/domain/text/visible-text.ts'
export { api, type Page, type RequestOptions, readRevised, segment } from './api/client.ts'
export { inTurn } from './api/in-turn.ts'
export { ApiError, asApiError } from './api/problem.ts'
export { connectPath, readAll, serverPath } from './api/servers.ts'
export { type GroupRecord, refOf, type ServerRecord } from './api/types.ts'
export { type LiveEvent, live } from './app/live.ts'
export type {
  CodeForm,
  ConsolePart,
  MakePart,
  PartKit,
  Piece,
  PieceSubject,
  PlaceDefinition,
  Provider,
  SignInParts,
  Ways,
} from './app/part.ts'
export { Plan } from './app/plan.ts'
export { hasPage } from './app/plugin-pages.ts'
export { Resource, type ResourceOptions } from './app/resource.ts'
export { href, router } from './app/router.ts'
export { type AskedProof, type SessionUser, session } from './app/session.ts'
export { attempt } from './components/attempt.ts'
export { callsMark } from './components/calls-mark.ts'
export { copyText, PbCopy } from './components/copy.ts'
export { download } from './components/download.ts'
export { PbElement } from './components/element.ts'
export { gate } from './components/gate.ts'
export { hubWords } from './components/hub-words.ts'
export { PbJson } from './components/json/json.ts'
export { confirmed, type Question } from './components/layers/confirm.ts'
export { dialog, drawer, hide, type LayerOptions } from './components/layers/layer.ts'
export { menu } from './components/layers/menu.ts'
export { toast } from './components/layers/toast.ts'
export { recycled } from './components/lists/recycled.ts'
export { type Column, PbTable } from './components/lists/table.ts'
export { ListWindow } from './components/lists/window.ts'
export { type Crumb, PbPage, segments, tabs } from './components/page.ts'
export { sandboxNote } from './components/servers/sandbox-note.ts'
export { type EmptyText, emptyState, errorState, errorText, show, skeleton } from './components/states.ts'
export { allTags } from './components/tags.ts'
export { PbTime } from './components/time.ts'
export {
  formatBytes,
  formatClock,
  formatCount,
  formatDate,
  formatDateTime,
  formatMs,
  formatNumber,
  formatPercent,
  formatSpan,
  UNKNOWN,
} from './text/format.ts'
export { icon } from './text/icon.ts'
export { fieldText, problemText } from './text/problem.ts'
export { isChinese, plural, rich, type TextValues, t } from './text/t.ts'
export { foreignText, webLink } from './text/web-link.ts'
