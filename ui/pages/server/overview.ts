import { html, nothing } from 'lit'
import { api } from '../../api/client.ts'
import { isEditable, readHealth, refOf } from '../../api/servers.ts'
import { hasRole } from '../../api/sharing.ts'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'
import { Resource } from '../../app/resource.ts'
import { session } from '../../app/session.ts'
import { PbElement } from '../../components/element.ts'
import { causeOf } from '../../components/servers/cause.ts'
import { wantsSignIn } from '../../components/servers/sign-in.ts'
import { attemptText, isResting } from '../../components/servers/status.ts'
import { errorState, hintLine, ownWordsOf } from '../../components/states.ts'
import { serverCallsNote } from '../../text/figures.ts'
import { formatNumber, UNKNOWN } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { ownWords, problemText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'
import { stateBand } from './band.ts'
import { configurationCard, processCard, protocolCard, useCard } from './facts.ts'
import './right-form.ts'

interface Metrics {
  readonly metrics: {
    readonly requests: { readonly total: number; readonly errors: number; readonly rate: number }
    readonly performance: { readonly avgResponseTime: number | null; readonly p95ResponseTime: number | null }
  }
  readonly series?: readonly {
    readonly timestamp: string
    readonly requests: number
    readonly errors: number
    readonly avg: number | null
    readonly p95: number | null
  }[]
}

/** The first tab of a server: its state over the day, four figures, and facts. */
export class PbServerOverview extends PbElement {
  static override properties = { server: { attribute: false }, groups: { attribute: false }, now: { attribute: false } }
  declare server: ServerRecord
  declare groups: readonly GroupRecord[]
  /** Moves every second, for what counts down. */
  declare now: number
  readonly #health = new Resource(this, {
    key: () => (hasRole(this.server, 'see') ? refOf(this.server) : undefined),
    read: signal => readHealth(refOf(this.server), signal),
    topics: ['servers'],
    apply: ({ data }) => (data.serverId === this.server.id ? 'stale' : 'same'),
    everyMs: 30_000,
  })
  readonly #metrics = new Resource<Metrics>(this, {
    key: () => (hasRole(this.server, 'see') ? refOf(this.server) : undefined),
    read: signal =>
      api.get<Metrics>('/api/monitoring/metrics', {
        query: { server: refOf(this.server), range: '1h', step: '150s' },
        signal,
      }),
    everyMs: 60_000,
  })

  override render(): unknown {
    const { server } = this
    const sees = hasRole(server, 'see')
    return html`${this.#fault()}${isEditable(server) ? html`<pb-right-form .server=${server}></pb-right-form>` : nothing}${sees ? this.#band() : nothing}${sees ? this.#figures() : nothing}
      <div class="grid2 even">${sees ? processCard(server, this.#health.data) : nothing}${protocolCard(server)}${
        sees ? configurationCard(server) : nothing
      }${useCard(server, this.groups)}</div>`
  }

  /** Reason why it is offline, in the console's words; the server's own message is folded. */
  #fault(): unknown {
    const { status, problem } = this.server
    const { reason } = status
    if (problem)
      return html`<div class="callout bad" role="status">${icon('circle-x')}<div class="grow stack t"><p><b>${problemText(problem)}</b> <code>${problem.code}</code></p>${hintLine(problem)}${ownWordsOf(problem)}</div></div>`
    if (status.state !== 'offline' || isResting(status) || !reason || isOfOwner(this.server)) return nothing
    const cause = causeOf(reason.code)
    const attempt = attemptText(status, this.now || Date.now())
    return html`<div class="callout bad" role="status">${icon('circle-x')}<div class="grow stack t"><p><b>${t('Offline: {cause}', { cause: cause ?? problemText(reason) })}</b></p>
      ${hintLine(reason)}
      ${attempt === undefined ? html`<p>${wantsSignIn(this.server) ? t('Sign in there: the hub connects then. Others who have signed in use it meanwhile.') : t('The hub does not try again by itself: change its settings, or try now.')}</p>` : html`<p class="tn" role="timer">${attempt}</p>`}
      <details><summary>${t('What was said')}</summary><pre class="code wrap">${ownWords(reason) ?? reason.message}</pre><p class="xs q"><code>${reason.code}</code></p></details></div></div>`
  }

  #band(): unknown {
    const { data, error } = this.#health
    if (data) return stateBand(this.server, data.changes, Date.now())
    return error
      ? errorState(error, () => void this.#health.reload())
      : html`<section class="card pad"><div class="skel"></div></section>`
  }

  #figures(): unknown {
    const { data, error } = this.#metrics
    if (error && !data) return errorState(error, () => void this.#metrics.reload())
    const series = data?.series ?? []
    const { requests, performance } = data?.metrics ?? {}
    const total = requests?.total ?? 0
    const figure = (
      label: string,
      value: number | null | undefined,
      unit: string,
      points: readonly (number | null)[],
      tone: string,
    ): unknown =>
      html`<div><span class="k">${label}</span><span class="v">${
        value === null || value === undefined
          ? html`<span title=${t('No calls in the last hour')}>${UNKNOWN}</span>`
          : html`${formatNumber(value, value < 10 ? 1 : 0)}<small>${unit}</small>`
      }</span>${spark(points, tone)}</div>`
    return html`<div class="stack t"><div class="minis card">${figure(
      t('Calls'),
      requests === undefined ? undefined : requests.rate * 60,
      t('/min'),
      series.map(one => one.requests),
      'c1',
    )}${figure(
      t('Average'),
      performance?.avgResponseTime,
      'ms',
      series.map(one => one.avg),
      'c3',
    )}${figure(
      'p95',
      performance?.p95ResponseTime,
      'ms',
      series.map(one => one.p95),
      'c3',
    )}${figure(
      t('Error rate'),
      total === 0 ? undefined : ((requests?.errors ?? 0) / total) * 100,
      '%',
      series.map(one => (one.requests === 0 ? 0 : one.errors / one.requests)),
      'c2',
    )}</div><p class="xs q">${t('In the last hour.')} ${serverCallsNote()}</p></div>`
  }
}
customElements.define('pb-server-overview', PbServerOverview)

/** True when its owner alone has no credential, and the reader is somebody else: a note on every tab says so. */
function isOfOwner({ owner, status }: ServerRecord): boolean {
  return status.reason?.ofOwner === true && owner !== session.user?.name
}

const SPARK_WIDTH = 84
const SPARK_HEIGHT = 22

/** A line of the last hour without axes; nothing for fewer than two points. */
function spark(points: readonly (number | null)[], tone: string): unknown {
  const known = points.map(point => point ?? 0)
  if (known.length < 2) return nothing
  const most = Math.max(...known, 1e-9)
  const step = (SPARK_WIDTH - 2) / (known.length - 1)
  const path = known
    .map(
      (value, at) =>
        `${at === 0 ? 'M' : 'L'}${(1 + at * step).toFixed(1)} ${(SPARK_HEIGHT - 2 - (value / most) * (SPARK_HEIGHT - 4)).toFixed(1)}`,
    )
    .join('')
  return html`<svg class="spark" width=${SPARK_WIDTH} height=${SPARK_HEIGHT} viewBox="0 0 84 22" aria-hidden="true"><path fill="none" stroke-width="1.4" class=${tone} d=${path}></path></svg>`
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-server-overview': PbServerOverview
  }
}
