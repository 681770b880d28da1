import { html, nothing } from 'lit'
import { api, type Page } from '../../api/client.ts'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { sharing, type Team } from '../../api/sharing.ts'
import { live } from '../../app/live.ts'
import { Resource } from '../../app/resource.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import { drawer, hide } from '../../components/layers/layer.ts'
import { menu } from '../../components/layers/menu.ts'
import { toast } from '../../components/layers/toast.ts'
import type { Column } from '../../components/lists/table.ts'
import { type Crumb, PbPage } from '../../components/page.ts'
import { emptyState, errorState, errorText, show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import '../../components/lists/table.ts'
import '../../components/time.ts'

/** Value of `drawer` in the address for a new team; another value is the id of one. */
const NEW = 'new'
/** Members named in the list. */
const NAMED = 5

/** Teams, with which servers and groups can be shared. */
export class PbPageTeams extends PbPage {
  static override properties = {
    ...PbPage.properties,
    error: { state: true },
    busy: { state: true },
    text: { state: true },
  }
  declare error: ApiError | undefined
  declare busy: boolean
  /** Filter of the names in the form. */
  declare text: string
  readonly #teams = new Resource<readonly Team[]>(this, { read: signal => sharing.teams(signal) })
  readonly #users = new Resource<Page<{ readonly name: string }>>(this, {
    read: signal => api.get('/api/admin/users', { query: { limit: 1000 }, signal }),
  })

  override crumbs(): readonly Crumb[] {
    return [{ label: t('Teams') }]
  }

  override actions(): unknown {
    return html`<button type="button" class="btn pri" @click=${() => this.#open(NEW)}>${icon('plus')}${t('New team')}</button>`
  }

  override content(): unknown {
    return html`${show(this.#teams, teams => this.#list(teams))}${this.#form()}`
  }

  #list(teams: readonly Team[]): unknown {
    if (teams.length === 0)
      return emptyState({
        icon: 'users-round',
        title: t('No teams yet'),
        text: t('What is shared with a team is shared with all its members, also with those who join later.'),
      })
    return html`<pb-table .label=${t('Teams')} .rows=${teams} .columns=${this.#columns()} .keyOf=${({ id }: Team) => id} .nameOf=${({ name }: Team) => name}></pb-table>`
  }

  #columns(): readonly Column<Team>[] {
    return [
      {
        id: 'name',
        head: t('Team'),
        cell: team => html`<span class="nm">${team.name}</span><span class="cellsub">${sourceOf(team)}</span>`,
      },
      { id: 'size', head: t('Members'), num: true, label: t('Members'), cell: ({ size }) => String(size) },
      { id: 'who', head: t('Names'), class: 'x q', cell: ({ members = [] }) => namesOf(members) },
      { id: 'made', head: t('Made'), class: 'x', cell: ({ createdAt }) => html`<pb-time .at=${createdAt}></pb-time>` },
      {
        id: 'acts',
        head: t('Actions'),
        quiet: true,
        class: 'end',
        cell: team =>
          menu(t('Actions for {name}', { name: team.name }), [
            { label: t('Change'), icon: 'pencil', action: () => this.#open(team.id) },
            {
              label: t('Delete'),
              icon: 'trash-2',
              danger: true,
              disabled: !live.reachable,
              action: () => void this.#remove(team),
            },
          ]),
      },
    ]
  }

  #open(which: string): void {
    this.error = undefined
    this.text = ''
    this.setView({ drawer: which }, { push: true })
  }

  #form(): unknown {
    const which = this.view('drawer')
    const team = this.#teams.data?.find(({ id }) => id === which)
    const mistake = this.error?.field('#/name')
    const members = new Set(team?.members)
    const text = (this.text ?? '').toLowerCase()
    return drawer({
      open: which === NEW || team !== undefined,
      title: team ? t('Team {name}', { name: team.name }) : t('New team'),
      onClose: () => {
        this.error = undefined
        this.setView({ drawer: undefined })
      },
      body: html`<form id="team" class="stack l" @submit=${(event: SubmitEvent) => void this.#save(event, team)}>${this.error ? errorState(this.error) : nothing}
        <div class="field"><label class="lbl" for="team-name">${t('Name')}</label><input id="team-name" name="name" class="in ${mistake ? 'err' : ''}" autocomplete="off" spellcheck="false" maxlength="256" required autofocus .value=${team?.name ?? ''}>${mistake ? html`<p class="hint bad">${fieldText(mistake)}</p>` : nothing}</div>
        ${team?.source ? sourceNote(team.source, team) : this.#members(members, text)}</form>`,
      foot: html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button><button class="btn pri" form="team" ?disabled=${this.busy || !live.reachable}>${this.busy ? t('Saving') : team ? t('Save') : t('Make team')}</button>`,
    })
  }

  #members(members: ReadonlySet<string>, text: string): unknown {
    return html`<fieldset class="field plain"><legend class="lbl">${t('Members')}</legend><input class="in" type="search" aria-label=${t('Filter names')} placeholder=${t('Filter names')} .value=${this.text ?? ''} @input=${(
      event: InputEvent,
    ) => {
      this.text = (event.target as HTMLInputElement).value
    }}>${(this.#users.data?.items ?? []).map(
      ({ name }) =>
        html`<label class="chk" ?hidden=${!name.toLowerCase().includes(text)}><input type="checkbox" name="member" value=${name} .checked=${members.has(name)}><span>${name}</span></label>`,
    )}</fieldset>`
  }

  async #save(event: SubmitEvent, team: Team | undefined): Promise<void> {
    event.preventDefault()
    const form = new FormData(event.target as HTMLFormElement)
    const name = String(form.get('name')).trim()
    const members = form.getAll('member').map(String)
    this.busy = true
    try {
      if (team) await sharing.changeTeam(team.name, team.source ? { name } : { name, members })
      else await sharing.createTeam(name, members)
      this.error = undefined
      this.setView({ drawer: undefined })
      await this.#teams.reload()
    } catch (error) {
      this.error = asApiError(error)
    }
    this.busy = false
  }

  async #remove({ name, size }: Team): Promise<void> {
    const yes = await confirmed({
      title: t('Delete team {name}?', { name }),
      text: plural(
        size,
        'What is shared with it is lost at once to {n} member, unless it is shared by name, too.',
        'What is shared with it is lost at once to {n} members, unless it is shared by name, too.',
      ),
      action: t('Delete team'),
    })
    if (!yes) return
    try {
      await sharing.removeTeam(name)
      toast(t('Team {name} is deleted', { name }))
    } catch (error) {
      toast(errorText(asApiError(error)))
    }
    await this.#teams.reload()
  }
}
customElements.define('pb-page-teams', PbPageTeams)

/** Says who sets the members of a team. */
function sourceOf({ source, warnings = [] }: Team): unknown {
  if (!source) return t('Members set by administrators')
  return html`${t('Members of the group {group} of {provider}', source)}${warnings.length > 0 ? html` <span class="tag warn">${t('Not set up')}</span>` : nothing}`
}

function sourceNote(source: NonNullable<Team['source']>, { members = [], warnings = [] }: Team): unknown {
  return html`<div class="callout acc">${icon('lock')}<p>${t('The members are those whose identity provider {provider} names the group {group} when they sign in. Add and remove them there.', source)}</p></div>
    ${warnings.length > 0 ? html`<div class="callout warn">${icon('triangle-alert')}<p>${t('No such provider is set up here: nobody joins the team until there is one.')}</p></div>` : nothing}
    <div class="field"><span class="lbl">${t('Members')}</span><p>${members.length === 0 ? t('Nobody yet') : members.join(', ')}</p></div>`
}

function namesOf(members: readonly string[]): string {
  const rest = members.length - NAMED
  return `${members.slice(0, NAMED).join(', ')}${rest > 0 ? ` ${t('and {n} more', { n: rest })}` : ''}`
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-teams': PbPageTeams
  }
}
