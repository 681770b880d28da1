import { html, nothing } from 'lit'
import { isEditable, refOf, type ServerHealthRecord } from '../../api/servers.ts'
import type { ServerRecord } from '../../api/types.ts'
import { href } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import type { MenuItem } from '../../components/layers/menu.ts'
import type { Column } from '../../components/lists/table.ts'
import { causeOf } from '../../components/servers/cause.ts'
import { checksBar } from '../../components/servers/checks-bar.ts'
import { wantsSignIn, worksForReader } from '../../components/servers/sign-in.ts'
import { isResting, serverState, transportMark } from '../../components/servers/status.ts'
import { ownerNote } from '../../components/sharing/roles.ts'
import { tagsOf } from '../../components/tags.ts'
import { formatCount, formatNumber, UNKNOWN } from '../../text/format.ts'
import { t } from '../../text/t.ts'
import { lastError, rankOf } from './list.ts'

/** Data and actions of the columns. */
export interface RowActions {
  readonly checks: ReadonlyMap<string, ServerHealthRecord> | undefined
  /** True when a server is switched on, including a click that the hub has not answered yet. */
  isOn(server: ServerRecord): boolean
  isPending(server: ServerRecord): boolean
  /** Why a server cannot be switched now; undefined: it can. */
  refusal(server: ServerRecord): string | undefined
  toggle(server: ServerRecord): void
  menu(server: ServerRecord): readonly MenuItem[]
}

/** Columns of the list of servers. */
export function serverColumns(actions: RowActions): readonly Column<ServerRecord>[] {
  return [
    { id: 'name', head: t('Name'), class: 'c-name', cell: nameCell, sort: ({ name }) => name },
    { id: 'state', head: t('State'), class: 'c-state', cell: server => stateCell(server, actions), sort: rankOf },
    {
      id: 'transport',
      head: t('Transport'),
      class: 'x',
      cell: server => transportMark(server.transport),
      sort: ({ transport }) => transport,
    },
    { id: 'checks', head: t('Last 30 checks'), class: 'c-bar full', cell: server => checksCell(server, actions) },
    {
      id: 'tools',
      head: t('Tools'),
      label: t('Tools'),
      num: true,
      cell: ({ status }) => formatCount(status.counts.tools),
      sort: ({ status }) => status.counts.tools,
    },
    {
      id: 'p95',
      head: t('Recent p95, ms'),
      label: t('Recent p95, ms'),
      num: true,
      cell: p95Cell,
      sort: ({ status }) => status.latencyMs?.p95 ?? -1,
    },
    { id: 'run', head: t('Run'), class: 'c-sw', cell: server => switchCell(server, actions) },
    { id: 'menu', head: t('Actions'), quiet: true, class: 'c-menu', cell: server => menuCell(server, actions) },
  ]
}

function nameCell(server: ServerRecord): unknown {
  const error = lastError(server)
  const owner = ownerNote(server, session.user?.name)
  return html`<span class="row"><a class="nm" href=${href(`/servers/${encodeURIComponent(refOf(server))}`)}>${server.name}</a>${
    owner === undefined ? nothing : html`<span class="f xs">${owner}</span>`
  }${server.visibility === 'public' ? html`<span class="tag line">${t('Public')}</span>` : nothing}${
    server.origin === 'file' ? html`<span class="tag line">${t('Settings file')}</span>` : nothing
  }${tagsOf(server.tags)}</span>${error === undefined ? nothing : html`<span class="cellsub mono" title=${error}>${error}</span>`}`
}

function stateCell(server: ServerRecord, actions: RowActions): unknown {
  const review = server.review as { readonly required?: boolean } | undefined
  if (review?.required) return html`${serverState(server)}<span class="cellsub subst">${t('waits for a review')}</span>`
  if (!actions.isPending(server)) {
    const { state, reason } = server.status
    if (worksForReader(server))
      return html`${serverState(server)}<span class="cellsub subst">${t('with your own sign-in')}</span>`
    if (server.mine && wantsSignIn(server) && !isResting(server.status))
      return html`${serverState(server)}<span class="cellsub subst">${causeOf('sign_in_needed')}</span>`
    const cause = state === 'offline' && reason && !isResting(server.status) ? causeOf(reason.code) : undefined
    if (cause === undefined) return serverState(server, { reason: state === 'connecting' })
    return html`${serverState(server)}<span class="cellsub subst">${cause}</span>`
  }
  return html`<span class="st warn" role="status">${actions.isOn(server) ? t('Starting') : t('Stopping')}</span>`
}

function checksCell(server: ServerRecord, { checks }: RowActions): unknown {
  const found = checks?.get(refOf(server))
  if (found) return checksBar(found.checks)
  if (checks === undefined) return nothing
  return html`<span class="f" title=${t('Only its owner sees its checks')}>${UNKNOWN}</span>`
}

function p95Cell({ status }: ServerRecord): unknown {
  const p95 = status.latencyMs?.p95
  if (p95 === undefined) return html`<span class="f" title=${t('No calls yet')}>${UNKNOWN}</span>`
  return html`<span title=${t('Of the last 128 requests that the server answered')}>${formatNumber(p95, p95 < 10 ? 1 : 0)}</span>`
}

function switchCell(server: ServerRecord, actions: RowActions): unknown {
  if (!isEditable(server)) return html`<span class="vh">${t('not yours to switch')}</span>`
  const refusal = actions.refusal(server)
  return html`<input type="checkbox" role="switch" class="sw" aria-label=${t('Run {name}', { name: server.name })} title=${refusal ?? nothing}
    .checked=${actions.isOn(server)} ?disabled=${refusal !== undefined || actions.isPending(server)} @change=${() => actions.toggle(server)}>`
}

function menuCell(server: ServerRecord, actions: RowActions): unknown {
  return html`<pb-row-menu .items=${() => actions.menu(server)} .label=${t('Actions for {name}', { name: server.name })}></pb-row-menu>`
}
