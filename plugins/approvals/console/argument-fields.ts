import { html, nothing } from 'lit'
import { fieldText, icon, t } from 'patchbay/console'
import { type ArgumentRow, memberName, OPERATORS, type Operator } from './argument-rows.ts'

/** Finds the hub's error at a field, by the beginning of its pointer below the rule. */
export type Wrong = (pointer: string) => { readonly code: string; readonly detail: string } | undefined

/** Conditions about the arguments of a call, a row each. `repeated`: index of a row that says the same as an earlier one. */
export function argumentFields(
  rows: readonly ArgumentRow[],
  change: (rows: readonly ArgumentRow[]) => void,
  wrong: Wrong,
  repeated: number,
): unknown {
  const set = (at: number, changes: Partial<ArgumentRow>): void =>
    change(rows.map((row, index) => (index === at ? { ...row, ...changes } : row)))
  const remove = (at: number): void => change(rows.filter((_, index) => index !== at))
  const ofAll = rows.some(row => rowProblem(row, wrong)) ? undefined : wrong('/when/arguments')
  return html`<fieldset class="field"><legend class="lbl">${t('Arguments')} <span class="o">${t('optional')}</span></legend>
    ${rows.map((row, at) =>
      argumentRow(
        row,
        at,
        changes => set(at, changes),
        () => remove(at),
        problemOf(row, at, wrong, repeated),
      ),
    )}
    ${ofAll ? html`<p class="hint bad">${icon('circle-alert')}${fieldText(ofAll)}</p>` : nothing}
    <span><button type="button" class="btn sm" @click=${() => change([...rows, { pointer: '/', operator: 'eq', value: '' }])}>${icon('plus')}${t('Add a condition')}</button></span>
    ${rows.length > 0 ? html`<p class="hint">${t('A path such as /amount or /to/0. Numbers, true, false and null are read as such; in quotation marks they are text.')}</p>` : nothing}</fieldset>`
}

function rowProblem({ pointer, operator }: ArgumentRow, wrong: Wrong): ReturnType<Wrong> {
  const escaped = pointer.replaceAll('~', '~0').replaceAll('/', '~1')
  const start = `/when/arguments/${escaped}`
  // An error of the path itself has no member behind it.
  const found = wrong(`${start}/${memberName(operator)}`)
  return found ?? (isPath(pointer) ? undefined : wrong(start))
}

function isPath(pointer: string): boolean {
  return pointer === '' || pointer.startsWith('/')
}

function problemOf(row: ArgumentRow, at: number, wrong: Wrong, repeated: number): string | undefined {
  if (at === repeated) return t('An earlier row has this comparison of the same argument.')
  const found = rowProblem(row, wrong)
  return found && fieldText(found)
}

function argumentRow(
  { pointer, operator, value }: ArgumentRow,
  at: number,
  set: (changes: Partial<ArgumentRow>) => void,
  remove: () => void,
  problem: string | undefined,
): unknown {
  const n = at + 1
  const text = (event: Event): string => (event.target as HTMLInputElement).value
  const hasValue = operator !== 'given' && operator !== 'missing'
  const invalid = problem === undefined ? nothing : 'true'
  const describedBy = problem === undefined ? nothing : `approval-argument-${n}-h`
  return html`<div class="argrow" role="group" aria-label=${t('Condition {n}', { n })}><input class="in mono ${problem ? 'err' : ''}" aria-label=${t('Path of argument {n}', { n })} autocomplete="off" spellcheck="false" autocapitalize="none" .value=${pointer} aria-invalid=${invalid} aria-describedby=${describedBy} @input=${(event: Event) => set({ pointer: text(event) })}>
    <select class="in" aria-label=${t('Comparison {n}', { n })} @change=${(event: Event) => set({ operator: text(event) as Operator })}>${OPERATORS.map(
      one => html`<option value=${one} ?selected=${one === operator}>${operatorLabel(one)}</option>`,
    )}</select>
    ${hasValue ? html`<input class="in mono" aria-label=${t('Value {n}', { n })} autocomplete="off" spellcheck="false" autocapitalize="none" .value=${value} placeholder=${operator === 'in' ? 'a, b' : ''} aria-invalid=${invalid} aria-describedby=${describedBy} @input=${(event: Event) => set({ value: text(event) })}>` : nothing}
    <button type="button" class="btn ghost sm ico" aria-label=${t('Remove condition {n}', { n })} title=${t('Remove condition {n}', { n })} @click=${remove}>${icon('x')}</button></div>${
      problem === undefined
        ? nothing
        : html`<p class="hint bad" id="approval-argument-${n}-h">${icon('circle-alert')}${problem}</p>`
    }`
}

function operatorLabel(operator: Operator): string {
  switch (operator) {
    case 'eq':
      return t('is')
    case 'in':
      return t('is one of')
    case 'gt':
      return t('greater than')
    case 'gte':
      return t('at least')
    case 'lt':
      return t('less than')
    case 'lte':
      return t('at most')
    case 'contains':
      return t('contains')
    case 'prefix':
      return t('begins with')
    case 'given':
      return t('is given')
    case 'missing':
      return t('is not given')
  }
}
