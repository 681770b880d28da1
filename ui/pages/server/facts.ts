import { html, nothing, type TemplateResult } from 'lit'
import { quotedWords } from '../../../core/domain/text/quoted-words.ts'
import { visibleName } from '../../../core/domain/text/visible-text.ts'
import { isEditable, refOf, type ServerHealthRecord } from '../../api/servers.ts'
import { hasRole } from '../../api/sharing.ts'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'
import { href } from '../../app/router.ts'
import { hubWords, serverWarning } from '../../components/hub-words.ts'
import { formatMs, formatSpan } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import '../../components/time.ts'

/** A card of facts: pairs of a label and a value; undefined values are left out. */
export function factCard(
  title: string,
  facts: readonly (readonly [string, unknown])[],
  link?: TemplateResult,
): TemplateResult {
  return html`<section class="card"><div class="ch"><h2>${title}</h2>${link === undefined ? nothing : html`<div class="r">${link}</div>`}</div>
    <div class="cb"><dl class="kv">${facts
      .filter(([, fact]) => fact !== undefined)
      .map(([name, fact]) => html`<dt>${name}</dt><dd>${fact}</dd>`)}</dl></div></section>`
}

const tabOf = (server: ServerRecord, tab: string): string =>
  href(`/servers/${encodeURIComponent(refOf(server))}`, { tab })

/** The process or the sessions of a server, and its checks. */
export function processCard(server: ServerRecord, health: ServerHealthRecord | undefined): TemplateResult {
  const { status } = server
  const isProcess = server.transport === 'stdio'
  const { connections, session } = status
  const check = health?.lastCheck
  const config = server.healthCheck as { readonly enabled?: boolean; readonly interval?: number } | undefined
  const open = connections ? Object.values(connections).reduce((sum, one) => sum + one, 0) : undefined
  const facts: (readonly [string, unknown])[] = [
    [t('Runs as'), isProcess ? runsAs(server) : undefined],
    [t('Since'), html`<pb-time .at=${status.since}></pb-time>`],
    [t('Connections'), open === undefined ? undefined : plural(open, '{n} open', '{n} open')],
    [
      t('Shared'),
      session ? html`${sharing(session.kind)}<span class="q"> · ${hubWords(session.why ?? '')}</span>` : undefined,
    ],
    [
      t('Health check'),
      config?.enabled === false
        ? t('off')
        : check
          ? html`${t('every {time}', { time: formatSpan(config?.interval ?? 30_000) })}, ${t('last')} <pb-time .at=${check.at}></pb-time>, ${
              check.ok ? formatMs(check.durationMs) : html`<span class="st bad">${t('failed')}</span>`
            }`
          : t('none yet since it came online'),
    ],
    [t('Starts'), server.start === 'lazy' ? t('with the first call') : t('with the hub')],
  ]
  return factCard(
    isProcess ? t('Process') : t('Connection'),
    facts,
    html`<a href=${tabOf(server, 'logs')}>${isProcess ? 'stderr' : t('Logs')}</a>`,
  )
}

function runsAs(server: ServerRecord): unknown {
  const { pid } = server.status
  const sandbox = server.sandbox === 'off' ? t('sandbox off') : undefined
  const network = typeof server.network === 'string' ? t('network: {network}', { network: server.network }) : undefined
  const parts = [pid === undefined ? t('no process now') : t('pid {pid}', { pid: String(pid) }), sandbox, network]
  return html`<span class="tn">${parts.filter(part => part !== undefined).join(', ')}</span>${
    server.review ? html` <span class="tag line">${t('Rights of an ordinary user')}</span>` : nothing
  }`
}

function sharing(kind: string): string {
  if (kind === 'per-session') return t('one for each session')
  return kind === 'per-user' ? t('one for each user') : t('one for all')
}

/** Facts that the server stated when it was connected. */
export function protocolCard(server: ServerRecord): TemplateResult {
  const { serverInfo, protocolVersion, era, counts, capabilities } = server.status
  const warnings =
    (server.status as { readonly warnings?: readonly Parameters<typeof serverWarning>[0][] }).warnings ?? []
  const names = capabilityNames(capabilities)
  const number = `${plural(counts.tools, '{n} tool', '{n} tools')}, ${plural(counts.prompts, '{n} prompt', '{n} prompts')}, ${plural(counts.resources, '{n} resource', '{n} resources')}`
  return factCard(t('Protocol'), [
    [
      t('Server says'),
      serverInfo ? `${serverInfo.title ?? serverInfo.name ?? ''} ${serverInfo.version ?? ''}` : undefined,
    ],
    [
      t('Version'),
      protocolVersion === undefined
        ? undefined
        : `${protocolVersion}${era === 'modern' ? `, ${t('stateless')}` : `, ${t('stateful')}`}`,
    ],
    [
      t('Capabilities'),
      names.length === 0
        ? undefined
        : html`<span class="row wrap">${names.map(name => html`<span class="tag" translate="no">${name}</span>`)}</span>`,
    ],
    [t('Catalogue'), server.mine ? t('each user has lists of their own') : number],
    [
      t('To know'),
      warnings.length === 0
        ? undefined
        : warnings.map(
            warning =>
              html`<p class="row s toknow">${icon('triangle-alert', { class: 's14 st-warn' })}<span>${serverWarning(warning)}</span></p>`,
          ),
    ],
  ])
}

function capabilityNames(capabilities: Readonly<Record<string, unknown>> | undefined): readonly string[] {
  return Object.entries(capabilities ?? {}).flatMap(([name, detail]) => {
    const more = detail as { readonly listChanged?: boolean; readonly subscribe?: boolean } | null
    return [
      name,
      ...(more?.listChanged ? [t('{name} change', { name })] : []),
      ...(more?.subscribe ? [t('{name} subscribe', { name })] : []),
    ]
  })
}

const SHOWN_PAIRS = 12

/** The settings in short; secrets are dots. */
export function configurationCard(server: ServerRecord): TemplateResult {
  const { command, args = [], url, timeout, maxTimeout } = server
  const span = (value: unknown): string => formatSpan(Number(value))
  return factCard(
    t('Configuration'),
    [
      [
        t('Command'),
        command === undefined ? undefined : html`<span class="mono">${quotedWords([command, ...args])}</span>`,
      ],
      [t('Address'), url === undefined ? undefined : html`<span class="mono">${visibleName(url)}</span>`],
      [t('Folder'), server.cwd === undefined ? undefined : html`<span class="mono">${server.cwd}</span>`],
      [t('Environment'), pairs(server.env)],
      [t('Headers'), pairs(server.headers)],
      [
        t('Timeout'),
        timeout === undefined
          ? undefined
          : t('{time}, with progress up to {most}', { time: span(timeout), most: span(maxTimeout) }),
      ],
      [t('Visibility'), server.visibility === 'public' ? t('Public: everybody signed in may use it') : t('Private')],
      [t('Changed'), server.updatedAt === undefined ? undefined : html`<pb-time .at=${server.updatedAt}></pb-time>`],
    ],
    isEditable(server)
      ? html`<a href=${tabOf(server, 'settings')}>${server.origin === 'file' ? t('Read') : t('Edit')}</a>`
      : undefined,
  )
}

function pairs(values: unknown): unknown {
  const entries = Object.entries((values ?? {}) as Record<string, unknown>)
  if (entries.length === 0) return undefined
  return html`${entries
    .slice(0, SHOWN_PAIRS)
    .map(
      ([name, value]) =>
        html`<div class="row wrap"><span class="mono">${name}</span><span class="mono q">${String(value)}</span></div>`,
    )}${entries.length > SHOWN_PAIRS ? html`<span class="q">${t('and {n} more', { n: entries.length - SHOWN_PAIRS })}</span>` : nothing}`
}

/** The Authorization that the server gets, its users, and the effect of its removal. */
export function useCard(server: ServerRecord, groups: readonly GroupRecord[]): TemplateResult {
  const using = groups.filter(({ members }) => members.some(member => member.server === refOf(server)))
  const passed = (server.passthroughHeaders as readonly string[] | undefined) ?? []
  const tools = server.status.counts.tools
  return factCard(t('Authorization and use'), [
    [t('Applies'), hasRole(server, 'owner') ? authorizationOf(server) : undefined],
    [
      t('Passed on'),
      passed.length === 0
        ? undefined
        : html`<span class="mono">${passed.join(', ')}</span><p class="hint">${t('These headers of a caller go to the server, where the caller agrees.')}</p>`,
    ],
    [
      t('In groups'),
      using.length === 0
        ? t('none')
        : using.map(
            (group, at) =>
              html`${at > 0 ? ', ' : ''}<a href=${href(`/groups/${encodeURIComponent(group.ref)}`)}>${group.name}</a>`,
          ),
    ],
    [
      t('If it stops'),
      using.length === 0
        ? t('nobody loses anything by a group')
        : plural(tools, 'the clients of these groups lose {n} tool', 'the clients of these groups lose {n} tools'),
    ],
  ])
}

function authorizationOf(server: ServerRecord): unknown {
  const headers = Object.keys((server.headers ?? {}) as object)
  if (headers.some(name => name.toLowerCase() === 'authorization'))
    return html`<b class="med">${t('Your own token')}</b> ${t('from its headers')}`
  const secrets = ((server.secrets ?? []) as readonly string[]).map(pointer => pointer.split('/').at(-1) ?? pointer)
  if (secrets.length > 0 && server.transport === 'stdio')
    return html`<b class="med">${t('Your own token')}</b> ${t('from its environment: {names}', { names: secrets.join(', ') })}`
  if (server.transport === 'stdio') return t('none: a program gets what its environment holds')
  return html`${t('none of its own; a hosted key of its platform, where you have stored one')} · <a href=${href('/settings/hosted-keys')}>${t('Hosted keys')}</a>`
}
