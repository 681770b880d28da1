import { html, nothing, type PropertyValues } from 'lit'
import {
  type ApiError,
  asApiError,
  drawer,
  errorState,
  fieldText,
  hide,
  icon,
  live,
  PbElement,
  type PieceSubject,
  Resource,
  t,
} from 'patchbay/console'
import { type Annotation, type ApprovalPolicy, type ApprovalRule, approvalsApi, replaceRules, type Way } from './api.ts'
import { argumentFields, type Wrong } from './argument-fields.ts'
import { repeatedRow } from './argument-rows.ts'
import { ANNOTATIONS, draftOf, type RuleDraft, ruleOf } from './rule-draft.ts'
import { neverFits, ruleSentence } from './rule-words.ts'

/** The rule that the form is opened for; `at` undefined: a new one at the end. */
export interface EditedRule {
  readonly policy: ApprovalPolicy
  readonly at: number | undefined
}

const NEW: ApprovalRule = { then: 'ask' }

/**
 * Form of one approval rule.
 *
 * @fires pb-saved - `detail: ApprovalPolicy`
 *
 * @fires pb-stale - another user has changed the rules
 *
 * @fires pb-close
 */
export class PbApprovalRuleForm extends PbElement {
  static override properties = {
    subject: { attribute: false },
    edited: { attribute: false },
    draft: { state: true },
    error: { state: true },
    stale: { state: true },
    saving: { state: true },
  }
  declare subject: PieceSubject
  declare edited: EditedRule | undefined
  declare draft: RuleDraft
  declare error: ApiError | undefined
  /** True after another user has changed the rules while the form was open. */
  declare stale: boolean
  declare saving: boolean
  readonly #teams = new Resource<readonly string[]>(this, {
    key: () => this.edited !== undefined,
    read: async signal => (this.edited ? approvalsApi.teams(signal) : []),
  })

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    if (!changed.has('edited') || !this.edited) return
    this.error = undefined
    this.stale = false
    this.draft = draftOf(this.#before ?? NEW)
  }

  get #before(): ApprovalRule | undefined {
    const { policy, at } = this.edited ?? {}
    return at === undefined ? undefined : policy?.rules[at]
  }

  override render(): unknown {
    const { edited } = this
    return drawer({
      open: edited !== undefined,
      title: edited?.at === undefined ? t('New approval rule') : t('Rule {n}', { n: edited.at + 1 }),
      body: edited ? this.#body(edited) : nothing,
      foot: html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button><button type="submit" form="approval-form" class="btn pri" ?disabled=${this.saving || this.stale || !live.reachable}>${this.saving ? t('Saving') : t('Save')}</button>`,
      onClose: () => this.dispatchEvent(new CustomEvent('pb-close')),
    })
  }

  #set(changes: Partial<RuleDraft>): void {
    this.draft = { ...this.draft, ...changes }
  }

  /** The hub's error at a field of the rule, by the beginning of its pointer below the rule. */
  readonly #wrong: Wrong = pointer => {
    const { at = this.edited?.policy.rules.length ?? 0 } = this.edited ?? {}
    const start = `/rules/${at}${pointer}`
    return this.error?.fields.find(field => {
      const given = field.pointer.replace(/^#/, '')
      return given === start || given.startsWith(`${start}/`)
    })
  }

  #body({ policy }: EditedRule): unknown {
    const { draft } = this
    const rule = ruleOf(draft, this.#before)
    return html`<form id="approval-form" class="stack l" novalidate @submit=${this.#submit}>${
      this.stale
        ? html`<div class="callout warn" role="alert">${icon('triangle-alert')}<p>${t('Another user has changed these rules meanwhile. Close this form and open it again.')}</p></div>`
        : nothing
    }${this.error && this.error.fields.length === 0 ? errorState(this.error) : nothing}${this.#otherProblems()}
      <p class="callout" role="status">${icon('info')}<span>${ruleSentence(rule, this.subject.kind)}${
        neverFits(rule, policy.trustAnnotations ?? false)
          ? html` <b>${t('It never fits while what the server says is not trusted.')}</b>`
          : nothing
      }</span></p>
      <h3 class="sech">${t('For which calls')}</h3>
      ${this.#names('tools', t('Tools'), '/when/tools', t('Names as the server has them, with * for any text, separated by commas. Empty: all.'), 'send_*, delete_file')}
      ${this.#names('tags', t('Tags'), '/when/tags', t('Tags of the server or group, separated by commas. Not for rules that allow calls.'), 'production')}
      <fieldset class="field"><legend class="lbl">${t('What the server says of the tool')}</legend><div class="form2">${ANNOTATIONS.map(name => this.#annotation(name))}</div></fieldset>
      ${argumentFields(draft.rows, rows => this.#set({ rows }), this.#wrong, repeatedRow(draft.rows))}
      ${this.#names('callers', t('Users'), '/when/callers', t('Names, with * for any text, separated by commas. Empty: all.'), '')}
      ${this.#names('clients', t('Clients'), '/when/clients', t('Names that clients give themselves, which they can choose.'), 'Claude*')}
      <h3 class="sech">${t('What happens')}</h3>
      ${this.#radios('then', t('Decision'), draft.then, [
        ['ask', t('Ask'), t('The call waits for a person.')],
        ['deny', t('Deny'), t('The call is not sent.')],
        ['allow', t('Allow'), t('The call is sent, unless another place asks or denies.')],
      ])}${draft.then === 'ask' ? this.#ask() : nothing}</form>`
  }

  /** Problems of the hub that are about another rule, or about all of them. */
  #otherProblems(): unknown {
    const others = (this.error?.fields ?? []).filter(
      field => this.#wrong('') !== field && !this.#isOfRule(field.pointer),
    )
    return others.map(
      field => html`<p class="hint bad">${icon('circle-alert')}<code>${field.pointer}</code> ${fieldText(field)}</p>`,
    )
  }

  #isOfRule(pointer: string): boolean {
    const { at = this.edited?.policy.rules.length ?? 0 } = this.edited ?? {}
    return pointer.replace(/^#/, '').startsWith(`/rules/${at}/`)
  }

  #names(
    name: 'tools' | 'tags' | 'callers' | 'clients',
    label: string,
    pointer: string,
    hint: string,
    example: string,
  ): unknown {
    const wrong = this.#wrong(pointer)
    const id = `approval-${name}`
    return html`<div class="field"><label for=${id}>${label} <span class="o">${t('optional')}</span></label><input id=${id} class="in mono ${wrong ? 'err' : ''}" autocomplete="off" spellcheck="false" autocapitalize="none" .value=${this.draft[name]} placeholder=${example} aria-describedby="${id}-h" aria-invalid=${wrong ? 'true' : nothing} @input=${(event: Event) => this.#set({ [name]: entered(event) })}>
      ${hintLine(`${id}-h`, wrong, hint)}</div>`
  }

  #annotation(name: Annotation): unknown {
    const id = `approval-${name}`
    const [label, yes, no] = annotationLabels(name)
    const value = this.draft.annotations[name]
    const change = (event: Event): void =>
      this.#set({ annotations: { ...this.draft.annotations, [name]: entered(event) as 'yes' | 'no' | '' } })
    return html`<div class="field"><label for=${id}>${label}</label><select id=${id} class="in" @change=${change}>${(
      [
        ['', t('either')],
        ['yes', yes],
        ['no', no],
      ] as const
    ).map(([one, word]) => html`<option value=${one} ?selected=${one === value}>${word}</option>`)}</select></div>`
  }

  #ask(): unknown {
    const { who, by, timeout, remember } = this.draft
    const isTeam = who.startsWith('team:')
    const owner = this.subject.kind === 'group' ? t('The owner of the group') : t('The owner of the server')
    const way = (one: Way, word: string, hint: string) =>
      html`<label class="chk"><input type="checkbox" .checked=${by.includes(one)} @change=${(event: Event) => this.#setWay(one, (event.target as HTMLInputElement).checked)}><span>${word}<span class="cellsub wrapx">${hint}</span></span></label>`
    const wrongBy = this.#wrong('/by')
    return html`${this.#radios('who', t('Who decides'), isTeam ? 'team' : who, [
      ['owner', owner, t('Administrators may decide too.')],
      ['team', t('A team'), t('Its members, but not the one who calls. The first decision counts.')],
      ['caller', t('The user of the client'), t('It confirms calls, and does not keep users from them.')],
    ])}${isTeam ? this.#team() : nothing}<fieldset class="field"><legend class="lbl">${t('Where')}</legend>${
      who === 'caller'
        ? html`${way('console', t('At the console'), t('On the page of approvals.'))}${way('elicitation', t('In the client'), t('An agent may answer by itself: only for clients that show the question.'))}`
        : nothing
    }${way('chat', t('A message with a link to the console'), t('By the alert channels of those who decide; without the arguments of the call.'))}${wrongBy ? html`<p class="hint bad">${icon('circle-alert')}${fieldText(wrongBy)}</p>` : nothing}</fieldset><div class="form2">${this.#duration('timeout', t('Time for a decision'), timeout, t('Such as 90s, 10m or 2h, at most 24h. Then the answer is no.'))}${this.#duration('remember', t('Remember a yes'), remember, t('Longest time, such as 1h. Empty: each call asks.'))}</div>`
  }

  #team(): unknown {
    const chosen = this.draft.who.slice('team:'.length)
    const teams = this.#teams.data ?? []
    // A team of a stored rule may be gone.
    const isChosen = (name: string): boolean => name.toLowerCase() === chosen.toLowerCase()
    const names = chosen === '' || teams.some(isChosen) ? teams : [chosen, ...teams]
    const wrong = this.#wrong('/who')
    const problem = wrong && html`${icon('circle-alert')}${chosen === '' ? t('Choose a team') : fieldText(wrong)}`
    const hint =
      this.#teams.data?.length === 0
        ? t('There are no teams. Administrators create them.')
        : t('Without the team, or without another member than the caller, the call is denied.')
    return html`<div class="field"><label for="approval-team">${t('Team')}</label><select id="approval-team" class="in ${wrong ? 'err' : ''}" aria-describedby="approval-team-h" aria-invalid=${wrong ? 'true' : nothing} @change=${(event: Event) => this.#set({ who: `team:${entered(event)}` })}>${chosen === '' ? html`<option value="" selected>${t('Choose a team')}</option>` : nothing}${names.map(name => html`<option value=${name} ?selected=${isChosen(name)}>${name}</option>`)}</select>
      <p class="hint ${wrong ? 'bad' : ''}" id="approval-team-h">${problem ?? hint}</p></div>`
  }

  #duration(name: 'timeout' | 'remember', label: string, value: string, hint: string): unknown {
    const wrong = this.#wrong(`/${name}`)
    const id = `approval-${name}`
    return html`<div class="field"><label for=${id}>${label} <span class="o">${t('optional')}</span></label><input id=${id} class="in mono ${wrong ? 'err' : ''}" autocomplete="off" spellcheck="false" autocapitalize="none" .value=${value} placeholder=${name === 'timeout' ? '10m' : ''} aria-describedby="${id}-h" aria-invalid=${wrong ? 'true' : nothing} @input=${(event: Event) => this.#set({ [name]: entered(event) })}>
      ${hintLine(`${id}-h`, wrong, hint)}</div>`
  }

  #radios(
    name: 'then' | 'who',
    legend: string,
    chosen: string,
    choices: readonly (readonly [string, string, string])[],
  ): unknown {
    return html`<fieldset class="field"><legend class="lbl">${legend}</legend>${choices.map(
      ([value, word, hint]) =>
        html`<label class="chk"><input type="radio" name=${name} value=${value} .checked=${value === chosen} @change=${() => this.#set({ [name]: value === 'team' ? 'team:' : value })}><span>${word}<span class="cellsub wrapx">${hint}</span></span></label>`,
    )}</fieldset>`
  }

  #setWay(way: Way, isOn: boolean): void {
    const others = this.draft.by.filter(one => one !== way)
    this.#set({ by: isOn ? [...others, way] : others })
  }

  readonly #submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const { edited, draft, subject } = this
    if (!edited || repeatedRow(draft.rows) >= 0) return
    const { policy, at } = edited
    const rule = ruleOf(draft, this.#before)
    const rules =
      at === undefined ? [...policy.rules, rule] : policy.rules.map((one, index) => (index === at ? rule : one))
    this.saving = true
    this.error = undefined
    try {
      const saved = await replaceRules(subject, policy, { ...policy, rules })
      if (saved) {
        this.dispatchEvent(new CustomEvent('pb-saved', { detail: saved }))
        hide({ currentTarget: form } as unknown as Event)
      } else {
        this.stale = true
        this.dispatchEvent(new CustomEvent('pb-stale'))
      }
    } catch (error) {
      this.error = asApiError(error)
      await this.updateComplete
      this.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
    }
    this.saving = false
  }
}
customElements.define('pb-approval-rule-form', PbApprovalRuleForm)

function entered(event: Event): string {
  return (event.target as HTMLInputElement).value
}

function hintLine(id: string, wrong: ReturnType<Wrong>, hint: string): unknown {
  return html`<p class="hint ${wrong ? 'bad' : ''}" id=${id}>${wrong ? html`${icon('circle-alert')}${fieldText(wrong)}` : hint}</p>`
}

/** Name, yes and no of an annotation. */
function annotationLabels(name: Annotation): readonly [string, string, string] {
  switch (name) {
    case 'readOnly':
      return [t('Changes'), t('only reads'), t('changes something')]
    case 'destructive':
      return [t('Damage'), t('may destroy something'), t('destroys nothing')]
    case 'idempotent':
      return [t('Repeated'), t('changes nothing more'), t('acts again')]
    case 'openWorld':
      return [t('Reach'), t('outside world'), t('own system')]
  }
}
