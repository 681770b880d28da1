import { html, nothing } from 'lit'
import {
  asApiError,
  type Column,
  confirmed,
  emptyState,
  errorText,
  type GroupRecord,
  href,
  icon,
  live,
  PbPage,
  Resource,
  readAll,
  refOf,
  type ServerRecord,
  session,
  show,
  t,
  toast,
} from 'patchbay/console'
import { type GuardedPlace, type GuardPlace, type GuardRule, guardsApi } from './api.ts'
import type { EditedRule } from './rule-form.ts'
import './rule-form.ts'
import './samples.ts'
import { matchWords, onWord, placeWord, thenWord } from './names.ts'

const HUB: GuardPlace = { kind: 'hub', ref: '', name: '' }

/** The rules about content: of the hub for administrators, and of the user's servers and groups. */
class PbPageGuards extends PbPage {
  static override properties = {
    ...PbPage.properties,
    edited: { state: true },
    sampled: { state: true },
  }
  declare edited: EditedRule | undefined
  declare sampled: { readonly place: GuardPlace; readonly rule: string } | undefined
  #added: EditedRule | undefined
  readonly #rules = new Resource<readonly GuardedPlace[]>(this, {
    read: async signal => {
      const { items } = await guardsApi.own(signal)
      return session.isAdmin ? [{ ...HUB, ...(await guardsApi.of(HUB, signal)) }, ...items] : items
    },
    everyMs: 10_000,
  })
  readonly #places = new Resource<readonly GuardPlace[]>(this, {
    read: async signal => {
      const [servers, groups] = await Promise.all([
        readAll<ServerRecord>('/api/servers', {}, signal),
        readAll<GroupRecord>('/api/groups', {}, signal),
      ])
      const own = (owner: string) => owner === session.user?.name
      return [
        ...(session.isAdmin ? [HUB] : []),
        ...servers
          .filter(({ owner }) => own(owner))
          .map(one => ({ kind: 'server' as const, ref: refOf(one), name: one.name })),
        ...groups.filter(({ owner }) => own(owner)).map(({ ref, name }) => ({ kind: 'group' as const, ref, name })),
      ]
    },
  })

  override crumbs() {
    return [{ label: t('Content rules') }]
  }

  override actions(): unknown {
    const isOff = !live.reachable || (this.#places.data?.length ?? 0) === 0
    return html`<button type="button" class="btn pri" ?disabled=${isOff} @click=${() => this.setView({ drawer: 'new' }, { push: true })}>${icon('plus')}${t('New rule')}</button>`
  }

  override content(): unknown {
    return html`<p class="lede">${t('Rules about what passes between callers and servers: they find keys, personal data, patterns and addresses, and observe, mask or refuse them. All rules of the hub, the group and the server apply.')}</p>${show(
      this.#rules,
      places =>
        places.every(({ rules }) => rules.length === 0)
          ? none((this.#places.data?.length ?? 1) > 0)
          : places.map(place => this.#place(place)),
    )}<pb-guard-form .edited=${this.#edited} .places=${this.#places.data ?? []} @pb-saved=${() => void this.#rules.reload()} @pb-close=${() => {
      this.edited = undefined
      this.setView({ drawer: undefined, of: undefined })
    }}></pb-guard-form><pb-guard-samples .place=${this.sampled?.place} .rule=${this.sampled?.rule} @pb-close=${() => {
      this.sampled = undefined
    }}></pb-guard-samples>`
  }

  /** A new rule by the address, or the one that is edited. */
  get #edited(): EditedRule | undefined {
    if (this.view('drawer') !== 'new' || !this.#places.data) return this.edited
    const of = this.view('of')
    const place = of === undefined ? undefined : this.#places.data.find(({ kind, ref }) => `${kind}:${ref}` === of)
    if (this.#added?.place !== place || !this.#added) this.#added = { place }
    return this.#added
  }

  #place(place: GuardedPlace): unknown {
    if (place.rules.length === 0) return nothing
    const label = placeWord(place)
    return html`<section class="card" aria-label=${label}><div class="ch line"><h2>${label}</h2></div><pb-table .rows=${place.rules} .columns=${this.#columns(place)} .keyOf=${(rule: GuardRule) => rule.id} .label=${label}></pb-table></section>`
  }

  #columns(place: GuardedPlace): readonly Column<GuardRule>[] {
    const { counts } = place
    const count = (id: string, head: string, of: 'observed' | 'masked' | 'refused' | 'failed'): Column<GuardRule> => ({
      ...{ id, head, label: head, num: true },
      cell: rule => counts[rule.id]?.[of] ?? 0,
    })
    return [
      { id: 'id', head: t('Rule'), cell: ({ id }) => html`<span class="nm">${id}</span>` },
      { ...{ id: 'match', head: t('Finds'), label: t('Finds') }, cell: matchWords },
      { ...{ id: 'on', head: t('Looks at'), label: t('Looks at') }, cell: placesOf },
      {
        ...{ id: 'then', head: t('Does'), label: t('Does') },
        cell: ({ then }) => html`<span class="tag ${then === 'observe' ? 'line' : ''}">${thenWord(then)}</span>`,
      },
      count('observed', t('Observed'), 'observed'),
      count('masked', t('Masked'), 'masked'),
      count('refused', t('Refused'), 'refused'),
      {
        ...{ id: 'acts', head: t('Actions'), quiet: true, class: 'full' },
        cell: rule => this.#acts(place, rule),
      },
    ]
  }

  #acts(place: GuardedPlace, rule: GuardRule): unknown {
    const name = rule.id
    return html`<span class="row end"><button type="button" class="btn sm" aria-label=${t('Samples of {name}', { name })} @click=${() => {
      this.sampled = { place, rule: name }
    }}>${t('Samples')}</button><button type="button" class="btn sm" ?disabled=${!live.reachable} aria-label=${t('Edit {name}', { name })} @click=${() => {
      this.edited = { place, rule }
    }}>${t('Edit')}</button><button type="button" class="btn bad sm" ?disabled=${!live.reachable} aria-label=${t('Delete {name}', { name })} @click=${() => void this.#remove(place, rule)}>${t('Delete')}</button></span>`
  }

  async #remove(place: GuardedPlace, { id: name }: GuardRule): Promise<void> {
    const text = t('What it finds passes from now on. Its counts and samples are gone.')
    if (!(await confirmed({ title: t('Delete rule {name}?', { name }), action: t('Delete rule'), text }))) return
    try {
      const { rules } = await guardsApi.of(place)
      await guardsApi.replace(
        place,
        rules.filter(({ id }) => id !== name),
      )
      toast(t('Rule {name} is deleted', { name }))
      await this.#rules.reload()
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }
}
customElements.define('pb-page-guards', PbPageGuards)

/** The direction in which a rule looks, and the tools and tags that it is limited to. */
function placesOf({ on, tools = [], tags = [] }: GuardRule): unknown {
  const limits = [...tools, ...tags.map(tag => t('tag {name}', { name: tag }))]
  return html`${onWord(on)}${limits.length > 0 ? html`<span class="cellsub">${limits.join(', ')}</span>` : nothing}`
}

/** The empty list. `hasPlaces`: the reader has a server or group for a rule. */
function none(hasPlaces: boolean): unknown {
  return html`<section class="card">${emptyState({
    icon: 'shield',
    title: t('No content rules'),
    text: hasPlaces
      ? t('A new rule only observes: look at what it would find before you let it mask or refuse.')
      : t(
          'A rule belongs to a server or group of yours, and you have none yet. Owners set those of what they share with you.',
        ),
    ...(hasPlaces
      ? {}
      : { action: html`<a class="btn" href=${href('/servers/new')}>${icon('plus')}${t('Add server')}</a>` }),
  })}</section>`
}
