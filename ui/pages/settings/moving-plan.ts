import { html, nothing } from 'lit'
import { ApiError } from '../../api/problem.ts'
import { errorText } from '../../components/states.ts'
import { fieldText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'
import { importWarning } from './moving-words.ts'

/** The user's choice for an item. */
export type Choice = 'skip' | 'replace' | 'accept'

/** One item of the plan of an import. */
export interface PlannedItem {
  readonly kind: string
  readonly of?: string
  readonly pointer: string
  readonly name: string
  readonly owner?: string
  readonly verdict: string
  readonly body?: Readonly<Record<string, unknown>>
  readonly missing?: readonly { readonly name: string; readonly secret: boolean }[]
  readonly warnings: readonly string[]
  readonly error?: Readonly<Record<string, unknown>>
}

/** The plan of an import, as `POST /api/import` answers it. */
export interface ImportPlan {
  readonly planHash: string
  readonly items: readonly PlannedItem[]
  readonly notCarried: readonly { readonly pointer: string; readonly what: string; readonly instead: string }[]
  readonly warnings: readonly string[]
}

/** The user's entries beside the document. */
export interface Entered {
  readonly answers: Readonly<Record<string, string>>
  readonly choices: Readonly<Record<string, Choice>>
}

/** Called when the user has entered something. */
export interface PlanActions {
  answer(name: string, value: string): void
  choose(pointer: string, choice: Choice | undefined): void
}

/** The items of a plan with what each asks for, and what is not carried. */
export function planList({ items, notCarried, warnings }: ImportPlan, entered: Entered, actions: PlanActions): unknown {
  return html`${warnings.map(warning => html`<p class="s st-warn">${importWarning(warning)}</p>`)}
    <ul class="list entries bordered">${items.map(item => row(item, entered, actions))}</ul>
    ${
      notCarried.length === 0
        ? nothing
        : html`<h3>${t('Not carried')}</h3><ul class="list entries bordered">${notCarried.map(
            ({ pointer, what, instead }) =>
              html`<li><div class="tx"><span class="t1">${what}</span><p class="t2 wrapx">${instead}</p><p class="xs q mono">${pointer}</p></div></li>`,
          )}</ul>`
    }`
}

function row(item: PlannedItem, { answers, choices }: Entered, actions: PlanActions): unknown {
  const { name, owner, pointer, warnings, missing = [] } = item
  const label = title(item)
  return html`<li><div class="tx stack t"><span class="t1">${label}${verdictTag(item.verdict)}</span>${owner === undefined ? nothing : html`<p class="xs q">${t('Owner: {name}', { name: owner })}</p>`}
    ${content(item)}${item.error ? html`<p class="t2 wrapx st-bad">${mistake(item.error)}</p>` : nothing}
    ${warnings.map(warning => html`<p class="t2 wrapx">${importWarning(warning)}</p>`)}
    ${missing.map(
      one =>
        html`<label class="field"><span class="lbl">${asked(one.name)}</span><input class="in" type=${one.secret ? 'password' : 'text'} autocomplete="off" .value=${answers[one.name] ?? ''} @change=${(
          event: Event,
        ) => actions.answer(one.name, (event.target as HTMLInputElement).value)}></label>`,
    )}</div>${choices[pointer] === undefined && item.verdict === 'same' ? nothing : choice(name, item, choices[pointer], actions)}</li>`
}

/** A subject is mapped by its name here; anything else is a value. */
function asked(name: string): string {
  const [, kind, named = ''] = /^(user|team):(.+)$/s.exec(name) ?? []
  if (kind === 'user') return t('User of this hub for {name}', { name: named })
  return kind === 'team' ? t('Team of this hub for {name}', { name: named }) : name
}

function choice(name: string, { pointer }: PlannedItem, chosen: Choice | undefined, actions: PlanActions): unknown {
  const options: readonly (readonly [Choice | '', string])[] = [
    ['', t('Import')],
    ['skip', t('Skip')],
    ['replace', t('Replace')],
    ['accept', t('Accept')],
  ]
  return html`<select class="in mini" aria-label=${t('What to do with {name}', { name })} @change=${(event: Event) => {
    const { value } = event.target as HTMLSelectElement
    actions.choose(pointer, value === '' ? undefined : (value as Choice))
  }}>${options.map(([id, label]) => html`<option value=${id} ?selected=${(chosen ?? '') === id}>${label}</option>`)}</select>`
}

/** Shares by their subjects, teams by their members, and quotas and rules as they are written. */
function content({ kind, body }: PlannedItem): unknown {
  if (body === undefined || kind === 'server' || kind === 'group') return nothing
  if (kind === 'shares' && Array.isArray(body.shares))
    return html`<p class="t2 wrapx">${body.shares.map(({ subject, role }) => `${subject} (${roleText(role)})`).join(', ')}</p>`
  if (kind === 'team' && Array.isArray(body.members)) return html`<p class="t2 wrapx">${body.members.join(', ')}</p>`
  return html`<p class="t2 wrapx mono">${JSON.stringify(body)}</p>`
}

function roleText(role: unknown): string {
  if (role === 'use') return t('use')
  return role === 'see' ? t('see') : t('change')
}

function mistake(error: Readonly<Record<string, unknown>>): string {
  const problem = new ApiError(400, error)
  const [first] = problem.fields
  return first ? `${fieldText(first)} (${first.pointer})` : errorText(problem)
}

function title({ kind, of, name }: PlannedItem): string {
  const labels: Readonly<Record<string, string>> = {
    user: t('User {name}', { name }),
    team: t('Team {name}', { name }),
    server: t('Server {name}', { name }),
    group: t('Group {name}', { name }),
    key: t('Access key {name}', { name }),
    setting: t('Setting {name}', { name }),
    secret: t('Key of {platform}', { platform: name }),
  }
  const things: Readonly<Record<string, string>> = {
    server: t('server {name}', { name }),
    group: t('group {name}', { name }),
    user: t('user {name}', { name }),
    key: t('access key {name}', { name }),
  }
  const thing = things[of ?? ''] ?? name
  const beside: Readonly<Record<string, string>> = {
    shares: t('Shares of the {thing}', { thing }),
    quota: t('Quota of the {thing}', { thing }),
    approvals: t('Approval rules of the {thing}', { thing }),
    guards: t('Content rules of the {thing}', { thing }),
  }
  return (of === undefined ? labels[kind] : beside[kind]) ?? `${kind} ${name}`
}

function verdictTag(verdict: string): unknown {
  const tags: Readonly<Record<string, readonly [string, string]>> = {
    new: ['ok', t('New')],
    same: ['', t('The same')],
    replaced: ['warn', t('Replaced')],
    extended: ['ok', t('Extended')],
    exists: ['warn', t('Exists')],
    invalid: ['bad', t('Invalid')],
    skipped: ['warn', t('Skipped')],
  }
  const [tone, label] = tags[verdict] ?? ['', verdict]
  return html`<span class="tag ${tone}">${label}</span>`
}
