import { html, nothing, type TemplateResult } from 'lit'
import { api } from '../../api/client.ts'
import type { Attention, FiringAlert, Overview } from '../../api/monitoring.ts'
import { asApiError } from '../../api/problem.ts'
import { connectPath } from '../../api/servers.ts'
import { refOf, type ServerRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { hasPage } from '../../app/plugin-pages.ts'
import { href } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { hubWords } from '../../components/hub-words.ts'
import { toast } from '../../components/layers/toast.ts'
import { endsBySignIn } from '../../components/servers/cause.ts'
import { attemptText, isResting } from '../../components/servers/status.ts'
import { errorText } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { fieldText, problemLine, problemText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'
import { valueText } from '../alerts/words.ts'

/** Number of rows that are shown; further ones are in the list of servers. */
const ROWS = 6

interface Line {
  readonly name: string
  readonly path: string
  readonly tone: 'bad' | 'warn'
  readonly word: string
  readonly text: string
  readonly since?: string | undefined
  readonly owner?: string | undefined
  readonly act: unknown
}

/** Runs an action and shows the result. */
async function act(deed: () => Promise<unknown>, done: string, after: () => void): Promise<void> {
  try {
    await deed()
    toast(done)
  } catch (error) {
    toast(errorText(asApiError(error)))
  }
  after()
}

/** Card of problems that need an action, each with its cause and that action. */
export function attentionCard(
  { attention, servers: counts }: Overview,
  servers: readonly ServerRecord[],
  after: () => void,
): TemplateResult {
  const lines = [
    ...servers.filter(needsHelp).map(server => serverLine(server, after)),
    ...attention.filter(({ kind }) => kind !== 'server_offline').map(otherLine),
  ]
  lines.sort((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'))
  return html`<section class="card"><div class="ch"><h2>${t('Needs attention')}</h2><div class="r"><a href=${href('/servers')}>${t('All {n} servers', { n: counts.total })}</a></div></div>${
    lines.length === 0
      ? html`<p class="cb q s row">${icon('circle-check', { class: 'st-ok' })}${t('Nothing. Every server that should run does.')}</p>`
      : html`<ul class="list attl">${lines.slice(0, ROWS).map(row)}</ul>${
          lines.length > ROWS
            ? html`<p class="cb s"><a href=${href('/servers', { state: 'offline' })}>${t('{n} more', { n: lines.length - ROWS })}</a></p>`
            : nothing
        }`
  }</section>`
}

function needsHelp({ status, enabled, owner }: ServerRecord): boolean {
  // Its owner alone can end the want of a credential that the owner alone has.
  if (status.reason?.ofOwner && owner !== session.user?.name) return false
  return status.state === 'connecting' || (status.state === 'offline' && enabled !== false && !isResting(status))
}

function serverLine(server: ServerRecord, after: () => void): Line {
  const { status } = server
  const ref = refOf(server)
  const own = server.ref !== undefined
  const path = `/servers/${encodeURIComponent(ref)}`
  const waits = status.state === 'connecting'
  const attempt = attemptText(status)
  const cause = status.reason ? problemLine(status.reason) : ''
  const refused = /auth|token|credential/.test(status.reason?.code ?? '')
  const restart = (): Promise<void> =>
    act(
      () => api.post(`/api/servers/${encodeURIComponent(ref)}/restart`),
      t('Trying {name} now', { name: server.name }),
      after,
    )
  const signIn = endsBySignIn(status.reason?.code) && server.id !== undefined && hasPage('connections')
  const button = signIn
    ? html`<a class="btn sm pri" href=${href(connectPath(server.id))}>${t('Sign in')}</a>`
    : refused
      ? html`<a class="btn sm" href=${href(path, { tab: 'settings' })}>${t('New token')}</a>`
      : html`<button type="button" class="btn sm" ?disabled=${!live.reachable} @click=${restart}>${t('Try now')}</button>`
  return {
    ...{ name: server.name, path, tone: waits ? 'warn' : 'bad', word: waits ? t('Connecting') : t('Offline') },
    text: [attempt, cause].filter(part => part !== undefined && part !== '').join(': ') || t('It gave no reason'),
    ...{ since: status.since, owner: own ? undefined : server.owner },
    act: own ? button : html`<span class="f xs ro">${t('{owner} can retry', { owner: server.owner })}</span>`,
  }
}

const PLACES: Readonly<Record<Attention['kind'], string>> = {
  server_offline: '/servers',
  server_failing: '/servers',
  rule_failing: '/alerts',
  sink_failing: '/settings/sinks',
  plugin_failed: '/admin/plugins',
  settings_problem: '/settings',
}

function otherLine(attention: Attention): Line {
  const { kind, subject, since } = attention
  const path = kind === 'server_failing' ? `/servers/${encodeURIComponent(subject)}` : PLACES[kind]
  return {
    ...{ name: subject, path, tone: 'bad', word: kindWord(kind), text: attentionText(attention), since },
    act: html`<a class="btn sm" href=${href(path)}>${t('Look')}</a>`,
  }
}

function attentionText({ kind, code = '', message }: Attention): string {
  if (kind === 'settings_problem') return fieldText({ code, detail: message })
  if (kind !== 'sink_failing') return problemText({ code, message: hubWords(message) })
  // The number of waiting records is shown after the reason, which has a text only if the page is not in the hub’s own
  // language.
  const reason = problemText({ code, message: '' })
  return [reason, hubWords(message)].filter(part => part !== '').join(': ')
}

function kindWord(kind: Attention['kind']): string {
  if (kind === 'server_failing') return t('Checks fail')
  if (kind === 'rule_failing') return t('Rule fails')
  if (kind === 'sink_failing') return t('Log sink is down')
  return kind === 'plugin_failed' ? t('Plugin failed') : t('Settings')
}

function row(line: Line): TemplateResult {
  return html`<li>${icon(line.tone === 'bad' ? 'circle-x' : 'loader-circle', { class: line.tone === 'bad' ? 'st-bad' : 'st-warn' })}<div class="tx"><span class="t1"><a href=${href(line.path)}>${line.name}</a><span class="st ${line.tone}">${line.word}</span>${
    line.owner === undefined ? nothing : html`<span class="f xs owner">${line.owner}</span>`
  }</span><p class="t2 wrapx">${line.text}</p></div>${line.since === undefined ? nothing : html`<span class="ag"><pb-time .at=${line.since}></pb-time></span>`}${line.act}</li>`
}

/** The alerts that fire, and acknowledging them. */
export function firingCard({ alerts }: Overview, after: () => void): TemplateResult {
  return html`<section class="card"><div class="ch"><h2>${t('Firing alerts')}</h2><div class="r"><a href=${href('/alerts')}>${t('Rules')}</a></div></div>${
    alerts.items.length === 0
      ? html`<p class="cb q s row">${icon('circle-check', { class: 'st-ok' })}${t('None')}</p>`
      : html`<ul class="list">${alerts.items.map(alert => firing(alert, after))}</ul>`
  }${alerts.firing > alerts.items.length ? html`<p class="cb s"><a href=${href('/alerts')}>${t('{n} more', { n: alerts.firing - alerts.items.length })}</a></p>` : nothing}</section>`
}

function firing(alert: FiringAlert, after: () => void): TemplateResult {
  const value = alert.value == null ? undefined : valueText(alert.condition, alert.value)
  const about = [alert.server, alert.tool, value].filter(part => part !== undefined)
  const take = (): Promise<void> =>
    act(
      () => api.post(`/api/monitoring/alerts/${encodeURIComponent(alert.id)}/ack`),
      t('Acknowledged: its message is not repeated'),
      after,
    )
  return html`<li>${icon('bell-ring', { class: 'st-bad', label: t('firing') })}<div class="tx"><span class="t1"><a href=${href('/alerts')}>${alert.rule}</a></span><p class="t2">${about.join(', ')}${
    alert.startsAt === undefined ? nothing : html` <pb-time .at=${alert.startsAt}></pb-time>`
  }</p></div>${
    alert.ackedAt === undefined
      ? html`<button type="button" class="btn sm" ?disabled=${!live.reachable} @click=${take}>${t('Acknowledge')}</button>`
      : html`<span class="f xs">${t('acknowledged')}</span>`
  }</li>`
}
