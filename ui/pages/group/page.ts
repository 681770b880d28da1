import { html, nothing, type TemplateResult } from 'lit'
import { api, segment } from '../../api/client.ts'
import type { Connections } from '../../api/connections.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { readAll } from '../../api/servers.ts'
import { hasRole, type Shared } from '../../api/sharing.ts'
import { type GroupRecord, type GroupSelector, refOf, type ServerRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { piecesOf } from '../../app/parts.ts'
import '../../app/piece-element.ts'
import { Resource } from '../../app/resource.ts'
import { router } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { toast } from '../../components/layers/toast.ts'
import { PbPage, segments } from '../../components/page.ts'
import { lostThing } from '../../components/sharing/lost.ts'
import { ownerNote } from '../../components/sharing/roles.ts'
import { sharedNote } from '../../components/sharing/shared-note.ts'
import { errorState, errorText, show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { conflictCard } from './conflict.ts'
import { bodyOf, type Draft, draftOf, EMPTY, newMember } from './draft.ts'
import { fields } from './fields.ts'
import { missedMembers } from './missed.ts'
import { type Preview, previewCard, wholePreview } from './preview.ts'
import { addresses, readerView } from './reader.ts'
import { selectorCard } from './selector.ts'
import '../../components/sharing/sharing.ts'
import './connect.ts'
import './members.ts'
import './tools.ts'
import './view-as.ts'

/** Pause in typing before the preview is requested, in milliseconds. */
const REST_MS = 300

interface Loaded {
  readonly group: GroupRecord | undefined
  readonly servers: readonly ServerRecord[]
  readonly saved: Preview | undefined
}

/** One group: its members and tools, the client's view, and connecting a client. `/groups/new` creates one. */
class PbPageGroup extends PbPage {
  static override properties = {
    ...PbPage.properties,
    draft: { state: true },
    preview: { state: true },
    error: { state: true },
    conflict: { state: true },
    saving: { state: true },
  }
  /** Undefined: as saved. */
  declare draft: Draft | undefined
  declare preview: Preview | ApiError | undefined
  declare error: ApiError | undefined
  /** The group as another user has saved it meanwhile. */
  declare conflict: GroupRecord | undefined
  /** Why saving was refused when there is a conflict. */
  declare refusal: ApiError | undefined
  declare saving: boolean
  #unguard: (() => void) | undefined
  /** A group that is made, with the servers that the address names. */
  #fresh: Draft = EMPTY
  /** The group as it was last shown, for the text when it is lost. */
  #seen: { readonly name: string; readonly owner: string; readonly ref: string | undefined } | undefined
  #rest: ReturnType<typeof setTimeout> | undefined
  readonly #data = new Resource<Loaded>(this, {
    read: async signal => {
      const { ref } = this.params
      const servers = await readAll<ServerRecord>('/api/servers', { scope: 'visible' }, signal)
      if (ref === undefined) {
        this.#fresh = { ...EMPTY, members: wanted(servers, this.view('servers')).map(newMember) }
        return { group: undefined, servers, saved: undefined }
      }
      const [group, saved] = await Promise.all([
        api.get<GroupRecord>(`/api/groups/${segment(ref)}`, { signal }),
        wholePreview(query => api.get(`/api/groups/${segment(ref)}/tools`, { query, signal })),
      ])
      return { group, servers, saved }
    },
    key: () => this.params.ref ?? 'new',
    topics: ['servers', 'shares'],
    pauseMs: 2000,
  })
  readonly #links = new Resource<Connections>(this, {
    read: signal => api.get('/api/monitoring/connections', { signal }),
    everyMs: 10_000,
  })

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    clearTimeout(this.#rest)
    this.#unguard?.()
    this.#unguard = undefined
  }

  get #group(): GroupRecord | undefined {
    return this.#data.data?.group
  }

  get #draft(): Draft {
    return this.draft ?? (this.#group ? draftOf(this.#group) : this.#fresh)
  }

  get #mayEdit(): boolean {
    const group = this.#group
    return group === undefined || hasRole(group, 'change')
  }

  /** True for its owner and administrators. */
  get #isOwners(): boolean {
    const group = this.#group
    return group === undefined || hasRole(group, 'owner')
  }

  override crumbs() {
    return [
      { label: t('Groups'), path: '/groups' },
      { label: this.params.ref === undefined ? t('New group') : (this.#group?.name ?? this.params.ref) },
    ]
  }

  override headNote() {
    const group = this.#group
    if (!group) return nothing
    if (!this.#mayEdit) return html`<span class="tag">${ownerNote(group, session.user?.name)}</span>`
    if (this.draft) return html`<span class="st warn">${icon('pencil')}${t('Not saved')}</span>`
    return html`<span class="q s">${t('Saved')} <pb-time .at=${String(group.updatedAt)}></pb-time></span>`
  }

  override actions() {
    const group = this.#group
    if (!this.#data.data) return nothing
    const save = html`<button type="button" class="btn pri" ?disabled=${this.saving || !live.reachable || (group !== undefined && this.draft === undefined)} @click=${this.#save}>${this.saving ? t('Saving') : group ? t('Save') : t('Make group')}</button>`
    return html`${group ? this.#views(group) : nothing}${group ? html`<button type="button" class="btn ${this.#mayEdit ? '' : 'pri'}" @click=${() => this.setView({ connect: 'claude-desktop' }, { push: true })}>${icon('plug')}${t('Connect a client')}</button>` : nothing}${
      group && this.#isOwners
        ? html`<button type="button" class="btn ghost ico" aria-label=${t('Delete group')} title=${t('Delete group')} ?disabled=${!live.reachable} @click=${() => this.#remove(group)}>${icon('trash-2')}</button>`
        : nothing
    }${this.#mayEdit ? save : nothing}`
  }

  override content() {
    const { ref } = this.params
    const { data, error } = this.#data
    if (data?.group) this.#seen = { name: data.group.name, owner: data.group.owner, ref }
    const seen = this.#seen?.ref === ref ? this.#seen : undefined
    return lostThing('group', data ? undefined : error, seen) ?? show(this.#data, one => this.#whole(one))
  }

  #whole(data: Loaded): TemplateResult {
    const { group, servers } = data
    if (!group) return this.#editor(data)
    const notes = this.#notes(group, servers)
    const connect = html`<pb-connect .group=${group} .client=${this.view('connect')} @pb-close=${() => this.setView({ connect: undefined })} @pb-client=${(event: CustomEvent<string>) => this.setView({ connect: event.detail })}></pb-connect>`
    if (!hasRole(group, 'see')) return html`${notes}${readerView(group, this.query)}${connect}`
    if (this.view('tab') !== 'tools') return html`${notes}${this.#editor(data)}${connect}`
    return html`${notes}<pb-group-tools .group=${group} .query=${this.query}></pb-group-tools>${connect}`
  }

  #editor({ group, servers, saved }: Loaded): TemplateResult {
    const draft = this.#draft
    const shown = this.draft ? (this.preview ?? saved) : saved
    const change = (changes: Partial<Draft>): void => this.#change({ ...draft, ...changes })
    return html`${this.error ? errorState(this.error) : nothing}${this.conflict ? conflictCard(this.conflict, this.refusal, draft, this.#takeTheirs, () => void this.#keepMine()) : nothing}
      <div class="geg"><div class="stack">${fields(draft, group, this.error, { edit: this.#mayEdit, publish: this.#isOwners }, change)}
      <pb-group-members .draft=${draft} .servers=${servers} .disabled=${!this.#mayEdit} @pb-change=${(event: CustomEvent<Partial<Draft>>) => change(event.detail)}></pb-group-members>${selectorCard(draft, this.error, this.#mayEdit, change)}${group ? this.#sharing(group) : nothing}${group && this.#isOwners ? rules(group) : nothing}</div>
      <aside class="stack" aria-label=${t('What a client will see')}>${this.#asOther(group) ?? this.#view(group, shown, saved)}${group ? addresses(group) : nothing}</aside></div>
`
  }

  /** The switch between the group and its tools; readers with the role `use` have both on one page. */
  #views(group: GroupRecord): unknown {
    if (!hasRole(group, 'see')) return nothing
    const views = [
      { id: 'group' as const, label: t('Group') },
      { id: 'tools' as const, label: t('Tools') },
    ]
    const present = this.view('tab') === 'tools' ? 'tools' : 'group'
    return segments(t('View'), views, present, id =>
      this.setView({ tab: id === 'tools' ? id : undefined, tool: undefined }, { push: true }),
    )
  }

  #notes(group: GroupRecord, servers: readonly ServerRecord[]): unknown {
    return html`${sharedNote(thingOf(group), group.role, group.visibility)}${missedMembers(group, servers, () => void this.#data.reload())}`
  }

  #sharing(group: GroupRecord): unknown {
    if (!this.#isOwners) return nothing
    return html`<pb-sharing .thing=${thingOf(group)} @pb-shared=${() => void this.#data.reload()} @pb-view-as=${({ detail }: CustomEvent<string>) => this.setView({ as: detail }, { push: true })}></pb-sharing>`
  }

  /** The view of another user, if the address names one. */
  #asOther(group: GroupRecord | undefined): unknown {
    const as = this.view('as')
    if (!group || !as || !this.#isOwners) return undefined
    return html`<pb-view-as .group=${refOf(group)} .person=${as} @pb-close=${() => this.setView({ as: undefined })}></pb-view-as>`
  }

  #view(group: GroupRecord | undefined, shown: Preview | ApiError | undefined, saved: Preview | undefined): unknown {
    if (shown instanceof Error) return errorState(shown)
    return shown
      ? previewCard(shown, this.draft ? saved : undefined, this.#mayEdit ? this.#clients(group) : 0)
      : nothing
  }

  #clients(group: GroupRecord | undefined): number {
    const links = this.#links.data?.links.filter(link => link.group === group?.id) ?? []
    return new Set(links.map(({ client }) => client)).size
  }

  #change(draft: Draft): void {
    this.draft = draft
    this.#unguard ??= router.guard(() =>
      confirmed({
        title: t('Leave without saving?'),
        text: t('The changes of this group are lost.'),
        action: t('Leave'),
        danger: false,
      }),
    )
    clearTimeout(this.#rest)
    this.#rest = setTimeout(() => void this.#ask(draft), REST_MS)
  }

  /** Requests the view of a client; that does not need a name. */
  async #ask(draft: Draft): Promise<void> {
    // Only the owner and administrators get previews in the owner's rights.
    if (!this.#isOwners) return
    const body = bodyOf({ ...draft, name: draft.name || 'preview' }, this.#foreignOwner)
    const preview = await wholePreview(query => api.post('/api/groups/preview', { body, query })).catch(asApiError)
    if (this.draft === draft) this.preview = preview
  }

  get #foreignOwner(): string | undefined {
    const owner = this.#group?.owner
    return owner === session.user?.name ? undefined : owner
  }

  #clean(): void {
    this.#unguard?.()
    this.#unguard = undefined
    this.draft = undefined
    this.error = undefined
    this.conflict = undefined
  }

  readonly #save = async (): Promise<void> => {
    const group = this.#group
    this.saving = true
    try {
      const body = bodyOf(this.#draft, this.#foreignOwner)
      const saved = group
        ? await api.patch<GroupRecord>(`/api/groups/${segment(refOf(group))}`, {
            body: { description: null, instructions: null, tags: null, ...body, ...this.#selectorPatch(body.selector) },
            revision: group.revision,
          })
        : await api.post<GroupRecord>('/api/groups', { body })
      this.#clean()
      const path = `/groups/${segment(saved.ref)}`
      if (router.place.path !== path) await router.go(path, { replace: true })
      else await this.#data.reload()
    } catch (error) {
      const problem = asApiError(error)
      if (problem.code === 'version_conflict' && group) {
        this.refusal = problem
        this.conflict = await api.get<GroupRecord>(`/api/groups/${segment(refOf(group))}`)
      } else this.error = problem
    }
    this.saving = false
  }

  /** A merge patch keeps what it does not name, so values that were taken out are named as null. */
  #selectorPatch(selector: unknown): { readonly selector: unknown } {
    const before = this.#group?.selector
    if (selector === undefined || before === undefined) return { selector: selector ?? null }
    const { members } = selector as GroupSelector
    const none = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, null]))
    return {
      selector: {
        ...none(['default', 'description']),
        ...selector,
        members: { ...none(Object.keys(before.members)), ...members },
      },
    }
  }

  readonly #takeTheirs = (): void => {
    this.#clean()
    void this.#data.reload()
  }

  /** Saves over the other one's change: the revision is the newest now. */
  readonly #keepMine = async (): Promise<void> => {
    this.conflict = undefined
    await this.#data.reload()
    await this.#save()
  }

  async #remove(group: GroupRecord): Promise<void> {
    const links = this.#links.data
    const ids = new Set(links?.links.filter(link => link.group === group.id).map(({ client }) => client))
    const names = (links?.clients ?? [])
      .filter(({ id }) => ids.has(id))
      .map(({ name, key, user }) => [name, key?.label ?? user].filter(Boolean).join(', '))
    const sure = await confirmed({
      title: t('Delete group {name}?', { name: group.name }),
      text: html`<p>${names.length === 0 ? t('No client has used it in the last 5 minutes. Its address ends, and keys for it alone open nothing.') : plural(names.length, '{n} client loses access:', '{n} clients lose access:')}</p>${
        names.length === 0 ? nothing : html`<ul>${names.map(name => html`<li>${name}</li>`)}</ul>`
      }<p class="s q">${t('Its servers stay.')}</p>`,
      action: t('Delete group'),
      typed: group.name,
    })
    if (!sure) return
    try {
      await api.delete(`/api/groups/${segment(refOf(group))}`, { query: { force: true } })
      this.#clean()
      await router.go('/groups')
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
  }
}
customElements.define('pb-page-group', PbPageGroup)

/** The group as its shares have it. */
function thingOf(group: GroupRecord): Shared {
  return { kind: 'group', ref: refOf(group), name: group.name, owner: group.owner }
}

/** The servers of a list of names, as links to a new group have them; own ones go before those of others. */
function wanted(servers: readonly ServerRecord[], names: string | undefined): readonly ServerRecord[] {
  const own = servers.toSorted(
    (left, right) => Number(right.owner === session.user?.name) - Number(left.owner === session.user?.name),
  )
  return (names ?? '').split(',').flatMap(name => own.find(server => server.name === name) ?? [])
}

/** The rules that plugins have for a group; they are saved apart from its members. */
function rules({ ref, name }: GroupRecord): unknown {
  return piecesOf('group-rules').map(
    piece => html`<pb-piece .piece=${piece} .subject=${{ kind: 'group', ref, name }}></pb-piece>`,
  )
}
