import { html, nothing } from 'lit'
import {
  api,
  asApiError,
  type Crumb,
  emptyState,
  errorText,
  formatNumber,
  hasPage,
  href,
  icon,
  live,
  type Page,
  PbPage,
  Resource,
  segments,
  session,
  show,
  t,
  toast,
} from 'patchbay/console'
import { type Quota, type UsageBy, type UsageSum, type UsedQuota, usageApi } from './api.ts'
import { PARTS, partText } from './names.ts'
import { bar } from './quota-form.ts'

/** Days that are summed. */
const RANGE = '7d'
/** The used part of quotas in conditions of alert rules. */
const METRIC = 'quotas.used'

/** Calls of the user by day, and the quotas that concern the user. */
class PbPageUsage extends PbPage {
  readonly #quotas = new Resource(this, {
    read: async signal => {
      const [{ items }, names] = await Promise.all([usageApi.quotas(signal), namesOfClients(signal)])
      return items.map(item => (item.of === 'grant' ? { ...item, name: names.get(item.id ?? '') ?? '' } : item))
    },
    everyMs: 10_000,
  })
  readonly #rules = new Resource(this, {
    read: async signal =>
      (await api.get<Page<{ readonly condition: string }>>('/api/monitoring/rules', { signal })).items,
  })
  readonly #sums = new Resource(this, {
    key: () => [this.#by, this.#all],
    read: async signal => (await usageApi.sums(this.#by, RANGE, this.#all, signal)).items,
    keep: true,
    everyMs: 30_000,
  })

  get #by(): UsageBy {
    const by = this.view('by')
    return by === 'server' || by === 'tool' || by === 'key' ? by : 'day'
  }

  get #all(): boolean {
    return this.view('of') === 'all'
  }

  override crumbs(): readonly Crumb[] {
    return [{ label: t('Usage') }]
  }

  override content(): unknown {
    const by = [
      { id: 'day', label: t('By day') },
      { id: 'server', label: t('By server') },
      { id: 'tool', label: t('By tool') },
      { id: 'key', label: t('By key') },
    ] as const
    const of = [
      { id: 'mine', label: t('Mine') },
      { id: 'all', label: t('Of all users') },
    ] as const
    return html`${show(this.#quotas, items => html`${quotaTable(items)}${items.every(({ owner }) => owner !== undefined) ? nothing : this.#alert()}`)}
      <div class="row wrap">${segments<UsageBy>(t('Sums'), by, this.#by, id => this.setView({ by: id }))}
        ${session.user?.role === 'admin' ? segments<'mine' | 'all'>(t('Whose'), of, this.#all ? 'all' : 'mine', id => this.setView({ of: id })) : nothing}</div>
      ${show(this.#sums, items => sumTable(items, this.#by))}`
  }

  /** A button that makes an alert rule, or a link to the rules where there is one. */
  #alert(): unknown {
    const rules = this.#rules.data
    if (!rules) return nothing
    if (rules.some(({ condition }) => condition.includes(METRIC)))
      return html`<p class="hint">${t('An alert rule watches these quotas.')} <a href=${href('/alerts')}>${t('Alerts')}</a></p>`
    return html`<p class="row wrap"><button type="button" class="btn" ?disabled=${!live.reachable} @click=${() => void this.#makeRule()}>${icon('bell')}${t('Alert me when 80 % are used')}</button><span class="hint">${t('Makes an alert rule, with one message for each quota and day to your channels.')}</span></p>`
  }

  async #makeRule(): Promise<void> {
    const timing = { duration: '0s', repeatInterval: '0s' }
    const body = { name: 'quotas', condition: `${METRIC} >= 80%`, severity: 'warning', ...timing }
    try {
      await api.post('/api/monitoring/rules', { body })
      toast(t('The alert rule is made'))
      await this.#rules.reload()
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }
}
customElements.define('pb-page-usage', PbPageUsage)

/** Names of the clients that the user has agreed to, by the ids of the grants. */
async function namesOfClients(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  if (!hasPage('apps')) return new Map()
  type Grants = { readonly items: readonly { readonly id: string; readonly client: { readonly name: string } }[] }
  const { items } = await api.get<Grants>('/api/oauth/grants', { signal })
  return new Map(items.map(({ id, client }) => [id, client.name]))
}

function quotaTable(items: readonly UsedQuota[]): unknown {
  if (items.length === 0)
    return html`<section class="card">${emptyState({
      icon: 'gauge',
      title: t('No quotas'),
      text: t(
        'Nothing limits your calls but the limits of the hub. Owners set quotas for servers and groups, administrators for users.',
      ),
    })}</section>`
  const rows = items.flatMap(one =>
    PARTS.flatMap(part => {
      const limit = one.quota[part]
      return limit === undefined ? [] : [{ one, part, limit }]
    }),
  )
  return html`<section class="card"><div class="ch line"><h2>${t('Quotas')}</h2></div><div class="tw"><table class="cards"><thead><tr><th scope="col">${t('Of')}</th><th scope="col">${t('Limit')}</th><th scope="col" class="num">${t('Used')}</th><th scope="col" class="num">${t('Most')}</th></tr></thead><tbody>${rows.map(
    ({ one, part, limit }) =>
      html`<tr><td class="full">${ofText(one)}</td><td data-l=${t('Limit')}>${partText(part)}</td><td class="num" data-l=${t('Used')}>${usedCell(one, part, limit)}</td><td class="num" data-l=${t('Most')}>${formatNumber(limit, 0)}</td></tr>`,
  )}</tbody></table></div></section>`
}

function sumTable(items: readonly UsageSum[], by: UsageBy): unknown {
  if (items.length === 0)
    return html`<section class="card">${emptyState({
      icon: 'chart-line',
      title: t('No calls in the last seven days'),
      text: t('Calls of tools are counted by day, key, server and tool.'),
    })}</section>`
  return html`<section class="card"><div class="ch line"><h2>${t('Calls of the last seven days')}</h2></div><div class="tw"><table class="cards"><thead><tr><th scope="col">${t('Day')}</th>${by === 'day' ? nothing : html`<th scope="col">${t('Of')}</th>`}<th scope="col" class="num">${t('Calls')}</th><th scope="col" class="num">${t('Failed calls')}</th><th scope="col" class="num">${t('Tokens of results')}</th></tr></thead><tbody>${items.map(
    sum =>
      html`<tr><td class=${by === 'day' ? 'full' : ''}>${sum.day}</td>${by === 'day' ? nothing : html`<td class="full mono">${whatOf(sum, by)}</td>`}<td class="num" data-l=${t('Calls')}>${formatNumber(sum.calls, 0)}</td><td class="num" data-l=${t('Failed calls')}>${formatNumber(sum.failures, 0)}</td><td class="num" data-l=${t('Tokens of results')}>${formatNumber(sum.resultTokens, 0)}</td></tr>`,
  )}</tbody></table></div></section>`
}

function whatOf({ key = '', server = '', tool = '', unseen }: UsageSum, by: UsageBy): string {
  if (by === 'key') return key === '' ? t('console and REST') : key
  // The part of the id in brackets, which keeps two of them apart.
  const [mark = ''] = /\(\w+\)$/.exec(server) ?? []
  const name = unseen ? t('a server that you no longer see {mark}', { mark }) : server.replace('~', ' / ')
  if (name === '') return t('others')
  return by === 'tool' ? `${name} · ${tool}` : name
}

/** The user's own calls at things of others, which are a part of what is used. */
function usedCell(one: UsedQuota, part: keyof Quota, limit: number): unknown {
  const used = one.used[part]
  if (used === undefined) return '–'
  if (one.owner !== undefined) return t('{n} by you', { n: formatNumber(used, 0) })
  return html`${formatNumber(used, 0)}${bar(limit, used, `${ofText(one)}, ${partText(part)}`)}`
}

function ofText(one: UsedQuota): string {
  return one.owner === undefined ? nameText(one) : t('{what} of {owner}', { what: nameText(one), owner: one.owner })
}

function nameText({ of, name = '', id = '' }: UsedQuota): string {
  switch (of) {
    case 'system':
      return t('the hub')
    case 'user':
      return t('your account')
    case 'key':
      return t('access key {id}', { id: name || id.slice(0, 8) })
    case 'grant':
      return t('client {id}', { id: name || id.slice(0, 8) })
    case 'group':
      return t('group {name}', { name })
    case 'server':
      return t('server {name}', { name })
    case 'tool':
      return t('tool {name}', { name })
  }
}
