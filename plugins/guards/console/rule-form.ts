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
  t,
} from 'patchbay/console'
import { type GuardMatch, type GuardPlace, type GuardRule, guardsApi } from './api.ts'
import { placeWord } from './names.ts'

/** The place and rule that a form is opened for; `rule` absent: a new one. */
export interface EditedRule {
  readonly place: GuardPlace | undefined
  readonly rule?: GuardRule
}

/**
 * Form of one rule about content.
 *
 * @fires pb-saved
 *
 * @fires pb-close
 */
export class PbGuardForm extends PbElement {
  static override properties = {
    edited: { attribute: false },
    places: { attribute: false },
    error: { state: true },
    saving: { state: true },
    by: { state: true },
  }
  declare edited: EditedRule | undefined
  /** The places to choose from, for a new rule. */
  declare places: readonly GuardPlace[]
  declare error: ApiError | undefined
  declare saving: boolean
  /** The rule looks for content itself, or asks a webhook. */
  declare by: 'match' | 'webhook'

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    if (!changed.has('edited')) return
    this.error = undefined
    this.by = this.edited?.rule?.webhook ? 'webhook' : 'match'
  }

  override render(): unknown {
    const { edited } = this
    const name = edited?.rule?.id
    return drawer({
      open: edited !== undefined,
      title: name === undefined ? t('New content rule') : t('Rule {name}', { name }),
      body: edited ? this.#body(edited) : nothing,
      foot: html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button><button type="submit" form="guard-form" class="btn pri" ?disabled=${this.saving || !live.reachable}>${this.saving ? t('Saving') : t('Save')}</button>`,
      onClose: () => this.dispatchEvent(new CustomEvent('pb-close')),
    })
  }

  #body({ place, rule }: EditedRule): unknown {
    const on = rule?.on ?? 'both'
    const then = rule?.then ?? 'observe'
    const fields = this.error?.fields ?? []
    return html`<form id="guard-form" class="stack l" @submit=${this.#submit}>${
      this.error
        ? html`${errorState(this.error)}${fields.map(field => html`<p class="hint bad">${icon('circle-alert')}<code>${field.pointer}</code> ${fieldText(field)}</p>`)}`
        : nothing
    }
      ${rule ? nothing : this.#placeField(place)}
      <div class="field"><label for="guard-id">${t('Name')}</label><input id="guard-id" name="id" class="in mono" required maxlength="40" pattern="[a-z0-9][a-z0-9\\-]*" autocomplete="off" .value=${rule?.id ?? ''} placeholder="no-keys" ?readonly=${rule !== undefined}>
        <p class="hint">${t('Lower-case letters, digits and dashes. Callers who are refused see it.')}</p></div>
      ${radios('on', t('Looks at'), on, [
        ['both', t('Arguments and results'), undefined],
        ['arguments', t('Arguments'), t('What callers send to servers.')],
        ['result', t('Results'), t('What servers answer, with errors and progress.')],
      ])}
      <fieldset class="field"><legend class="lbl">${t('Looks by')}</legend>${(
        [
          ['match', t('what it finds')],
          ['webhook', t('a webhook of yours')],
        ] as const
      ).map(
        ([id, word]) =>
          html`<label class="chk"><input type="radio" name="by" value=${id} .checked=${this.by === id} @change=${() => {
            this.by = id
          }}>${word}</label>`,
      )}</fieldset>
      ${this.by === 'match' ? matchFields(rule?.match) : webhookFields(rule)}
      ${radios('then', t('What it does'), then, [
        ['observe', t('Observe'), t('Counts what it finds, and changes nothing.')],
        ['mask', t('Mask'), t('Puts a mark in its place.')],
        ['refuse', t('Refuse'), t('The call fails. A tool may have acted when its result is refused.')],
      ])}
      <div class="field"><label for="guard-tools">${t('Tools')}</label><input id="guard-tools" name="tools" class="in mono" autocomplete="off" .value=${rule?.tools?.join(', ') ?? ''} placeholder="send_*, read_file"><p class="hint">${t('Names with *, separated by commas. Empty: all.')}</p></div>
      <div class="field"><label for="guard-tags">${t('Tags')}</label><input id="guard-tags" name="tags" class="in mono" autocomplete="off" .value=${rule?.tags?.join(', ') ?? ''} placeholder="production"><p class="hint">${t('The rule applies where the server or the group has one of these, separated by commas. Empty: everywhere.')}</p></div></form>`
  }

  #placeField(place: GuardPlace | undefined): unknown {
    return html`<div class="field"><label for="guard-place">${t('Applies to')}</label><select id="guard-place" name="place" class="in" required>${this.places.map(
      (one, index) =>
        html`<option value=${index} ?selected=${one.kind === place?.kind && one.ref === place.ref}>${placeWord(one)}</option>`,
    )}</select></div>`
  }

  readonly #submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const data = new FormData(form)
    const place = this.edited?.rule ? this.edited.place : this.places[Number(data.get('place'))]
    if (!place) return
    this.saving = true
    try {
      const { rules } = await guardsApi.of(place)
      const rule = ruleOf(data, this.edited?.rule?.match)
      const isThere = rules.some(({ id }) => id === rule.id)
      const changed = isThere ? rules.map(one => (one.id === rule.id ? rule : one)) : [...rules, rule]
      await guardsApi.replace(place, changed)
      this.dispatchEvent(new CustomEvent('pb-saved'))
      hide({ currentTarget: form } as unknown as Event)
    } catch (error) {
      this.error = asApiError(error)
    }
    this.saving = false
  }
}
customElements.define('pb-guard-form', PbGuardForm)

type Choice = readonly [value: string, word: string, hint: string | undefined]

function radios(name: string, legend: string, chosen: string, choices: readonly Choice[]): unknown {
  return html`<fieldset class="field"><legend class="lbl">${legend}</legend>${choices.map(
    ([value, word, hint]) =>
      html`<label class="chk"><input type="radio" name=${name} value=${value} .checked=${value === chosen}><span>${word}${hint === undefined ? nothing : html`<span class="cellsub">${hint}</span>`}</span></label>`,
  )}</fieldset>`
}

function matchFields(match: GuardMatch | undefined): unknown {
  const { secrets, personal, pattern = [], domains = [] } = match ?? { secrets: true as const }
  const patterns = typeof pattern === 'string' ? [pattern] : pattern
  return html`<fieldset class="field"><legend class="lbl">${t('Finds')}</legend>
      <label class="chk"><input type="checkbox" name="secrets" .checked=${secrets !== undefined}><span>${t('Keys and tokens')}<span class="cellsub">${t('Of well-known forms, by their checksums where they have them.')}</span></span></label>
      <label class="chk"><input type="checkbox" name="personal" .checked=${personal !== undefined}><span>${t('Personal data')}<span class="cellsub">${t('E-mail, phone, cards, IBAN, Chinese identity numbers.')}</span></span></label></fieldset>
    <div class="field"><label for="guard-pattern">${t('Patterns')}</label><textarea id="guard-pattern" name="pattern" class="in mono" rows="3" .value=${patterns.join('\n')}></textarea><p class="hint">${t('One a line, in any case. * stands for any characters of a line, ? for one, # for a digit.')}</p></div>
    <div class="field"><label for="guard-domains">${t('Allowed hosts')}</label><textarea id="guard-domains" name="domains" class="in mono" rows="2" .value=${domains.join('\n')}></textarea><p class="hint">${t('One a line, such as example.com or *.example.com. Addresses of all other hosts are found.')}</p></div>`
}

function webhookFields(rule: GuardRule | undefined): unknown {
  const { url = '', secret = '', onFailure = 'closed', timeoutMs = 2000 } = rule?.webhook ?? {}
  return html`<div class="field"><label for="guard-url">${t('Address')}</label><input id="guard-url" name="url" type="url" class="in mono" required .value=${url} placeholder="https://"></div>
    <div class="field"><label for="guard-secret">${t('Secret')}</label><input id="guard-secret" name="secret" class="in mono" required autocomplete="off" .value=${secret} placeholder="whsec_"><p class="hint">${t('Signs each request as Standard Webhooks says.')}</p></div>
    <div class="field"><label for="guard-timeout">${t('Longest wait, ms')}</label><input id="guard-timeout" name="timeoutMs" type="number" min="50" max="5000" class="in" .value=${String(timeoutMs)}></div>
    ${radios('onFailure', t('When it fails'), onFailure, [
      ['closed', t('Refuse the call'), undefined],
      ['open', t('Let the call pass'), undefined],
    ])}`
}

/** `before`: the match of the edited rule, whose chosen kinds stay. */
function ruleOf(data: FormData, before: GuardMatch = {}): GuardRule {
  const text = (name: string): string => String(data.get(name) ?? '').trim()
  const lines = (name: string, separator: RegExp = /\n/): string[] =>
    text(name)
      .split(separator)
      .map(line => line.trim())
      .filter(line => line !== '')
  const [pattern, domains] = [lines('pattern'), lines('domains')]
  const [tools, tags] = [lines('tools', /[,\n]/), lines('tags', /[,\n]/)]
  const by =
    text('by') === 'webhook'
      ? {
          webhook: {
            ...{ url: text('url'), secret: text('secret'), timeoutMs: Number(text('timeoutMs')) },
            onFailure: text('onFailure') as 'open' | 'closed',
          },
        }
      : {
          match: {
            ...(data.has('secrets') ? { secrets: before.secrets ?? true } : {}),
            ...(data.has('personal') ? { personal: before.personal ?? true } : {}),
            ...(pattern.length > 0 ? { pattern } : {}),
            ...(domains.length > 0 ? { domains } : {}),
          },
        }
  return {
    ...{ id: text('id'), on: text('on') as GuardRule['on'], then: text('then') as GuardRule['then'] },
    ...by,
    ...(tools.length > 0 ? { tools } : {}),
    ...(tags.length > 0 ? { tags } : {}),
  }
}
