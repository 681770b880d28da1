import { html, nothing, type TemplateResult } from 'lit'
import type { Endpoint, EndpointStatus } from '../../api/assistant.ts'
import { live } from '../../app/live.ts'
import { href } from '../../app/router.ts'
import { type MenuItem, menu } from '../../components/layers/menu.ts'
import { mark } from '../../components/servers/status.ts'
import '../../components/copy.ts'
import '../../components/time.ts'
import '../../components/switch.ts'
import { formatMs, formatSpan, UNKNOWN } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { faultText } from './words.ts'

/** Actions of the page on an endpoint. */
export interface EndpointActs {
  readonly switch: (endpoint: Endpoint, isOn: boolean) => Promise<boolean>
  readonly items: (endpoint: Endpoint) => readonly MenuItem[]
  readonly pasteToken: (endpoint: Endpoint) => void
}

/** State of an endpoint as icon and word. */
export function endpointState(status: EndpointStatus, now = Date.now()): TemplateResult {
  const { state, code, closeCode, nextTryAt } = status
  if (state === 'connected') return mark('ok', 'circle-check', t('Connected'))
  if (state === 'dialling') return mark('warn', 'loader-circle', t('Dialling'))
  if (state === 'waiting') return mark('rest', 'clock', t('Waiting'))
  if (state === 'off') return mark('rest', 'circle-minus', t('Off'))
  if (state === 'backing_off') {
    const left = nextTryAt === undefined ? 0 : Date.parse(nextTryAt) - now
    return mark(
      'warn',
      'loader-circle',
      left > 0 ? t('Backing off, next in {time}', { time: formatSpan(Math.max(1000, left)) }) : t('Backing off'),
    )
  }
  if (state === 'replaced') return mark('bad', 'circle-x', t('In use elsewhere'))
  return mark(
    'bad',
    'circle-x',
    closeCode === undefined
      ? t('Rejected, {code}', { code: code ?? '' })
      : t('Rejected, {code}', { code: String(closeCode) }),
  )
}

/** One endpoint as a card. */
export function endpointCard(endpoint: Endpoint, acts: EndpointActs, isOpen: boolean): TemplateResult {
  const { name, ref, direction, enabled = true, origin, status } = endpoint
  const isFixed = origin === 'file'
  return html`<li class="card ep"><div class="ch line"><h2><a href=${href(`/assistant/${encodeURIComponent(ref)}`)} aria-current=${isOpen ? 'true' : nothing}>${name}</a></h2><span class="q xs">${direction === 'inbound' ? t('inbound') : t('outbound')}</span><div class="r">${endpointState(status)}
      <pb-switch .label=${t('{name} is on', { name })} .isOn=${enabled} .disabled=${isFixed || !live.reachable} .set=${(isOn: boolean) => acts.switch(endpoint, isOn)}></pb-switch>${menu(t('Actions for {name}', { name }), acts.items(endpoint))}</div></div>
    <div class="cb padt stack">${callout(endpoint, acts)}<dl class="kv short"><dt>${t('Address')}</dt><dd class="mono cut" title=${endpoint.url ?? '/api/assistant/ws'}>${endpoint.url ?? '/api/assistant/ws'}</dd>
      <dt>${targetWord(endpoint.kind)}</dt><dd>${target(endpoint)}</dd>${
        isFixed
          ? html`<dt>${t('From')}</dt><dd><span class="tag line">${icon('lock')}${t('Settings file')}</span> <span class="q">${t('read-only here')}</span></dd>`
          : nothing
      }<dt>${t('Since')}</dt><dd>${status.since === undefined ? UNKNOWN : html`<pb-time .at=${status.since}></pb-time>`}</dd>
      <dt>${t('Last message')}</dt><dd>${status.lastMessageAt === undefined ? t('none yet') : html`<pb-time .at=${status.lastMessageAt}></pb-time>`}</dd>
      <dt>${t('Latency')}</dt><dd class="tn">${status.latencyMs === undefined ? html`<span title=${t('Measured while it is connected')}>${UNKNOWN}</span>` : formatMs(status.latencyMs)}</dd>
      <dt>${t('Times connected')}</dt><dd class="tn">${status.connects ?? 0}${status.callsInFlight ? html`, ${plural(status.callsInFlight, '{n} call runs', '{n} calls run')}` : nothing}</dd></dl></div></li>`
}

function targetWord(kind: Endpoint['kind']): string {
  if (kind === 'all') return t('Bound to')
  return kind === 'server' ? t('Server') : t('Group')
}

function target({ group, kind, view, status }: Endpoint): unknown {
  if (group === null) return html`<span class="bad-t">${t('gone')}</span>`
  const n = status.tools?.length
  return html`${kind === 'all' ? t('all that the owner may use') : link(group.replace(/^\$[^/]*\//, ''), kind)}${view === 'smart' ? html`, ${t('by search')}` : nothing}${n === undefined ? nothing : html`, ${plural(n, '{n} tool', '{n} tools')}`}`
}

function link(ref: string, kind: Endpoint['kind']): unknown {
  const path = kind === 'server' ? `/servers/${encodeURIComponent(ref)}` : `/groups/${encodeURIComponent(ref)}`
  return html`<a href=${href(path)}>${ref}</a>`
}

function callout(endpoint: Endpoint, acts: EndpointActs): unknown {
  const { status, direction } = endpoint
  const { state, code, message } = status
  if (state === 'refused' && code === 'token_refused') {
    return html`<div class="callout bad">${icon('circle-x')}<p><b>${t('The platform refused the token.')}</b> ${t('Make a new one there.')} <button type="button" class="linkb" @click=${() => acts.pasteToken(endpoint)}>${t('Paste it here')}</button></p></div>`
  }
  if (state === 'refused' || state === 'replaced')
    return html`<div class="callout bad">${icon('circle-x')}${withOwnWords(message, html`<p>${faultText(code, message)}</p>`)}</div>`
  if (state === 'off' && code === 'assistant_disabled')
    return html`<div class="callout">${icon('info')}<p>${t('Assistants are off on this hub. Start it with ASSISTANT_ENABLED=true and an ASSISTANT_API_KEY.')}</p></div>`
  if (state === 'backing_off' && message !== undefined)
    return withOwnWords(message, html`<p class="s q">${faultText(code, message)}</p>`)
  return state === 'waiting' && direction === 'inbound'
    ? html`<p class="s q">${t('Nobody is connected. The device dials with its token.')}</p>`
    : nothing
}

/** A text of the page, with the hub's own sentence, which is English, as its title. */
function withOwnWords(message: string | undefined, shown: unknown): unknown {
  if (message === undefined) return shown
  return html`<div lang="en" title=${message}><div lang=${document.documentElement.lang}>${shown}</div></div>`
}
