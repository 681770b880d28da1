import { html, nothing } from 'lit'
import {
  asApiError,
  confirmed,
  emptyState,
  errorText,
  icon,
  live,
  PbElement,
  type PieceSubject,
  Resource,
  show,
  t,
  toast,
} from 'patchbay/console'
import { type ApprovalPolicy, type ApprovalRule, approvalsApi, replaceRules } from './api.ts'
import type { EditedRule } from './rule-form.ts'
import './rule-form.ts'
import { neverFits, ruleSentence } from './rule-words.ts'

/** The rules by which calls of a server or group wait for a person, for its owner. */
export class PbApprovalRules extends PbElement {
  static override properties = {
    subject: { attribute: false },
    edited: { state: true },
    busy: { state: true },
  }
  declare subject: PieceSubject
  declare edited: EditedRule | undefined
  declare busy: boolean
  readonly #policy = new Resource<ApprovalPolicy>(this, {
    key: () => [this.subject.kind, this.subject.ref],
    read: signal => approvalsApi.rules(this.subject, signal),
  })

  override render(): unknown {
    return html`<section class="card" aria-labelledby="approval-rules-h"><div class="ch line"><h2 id="approval-rules-h">${t('Approvals')}</h2><div class="r"><button type="button" class="btn sm" ?disabled=${!live.reachable || !this.#policy.data} @click=${() => this.#open(undefined)}>${icon('plus')}${t('New approval rule')}</button></div></div>${show(
      this.#policy,
      policy => (policy.rules.length === 0 ? this.#none() : this.#list(policy)),
    )}</section><pb-approval-rule-form .subject=${this.subject} .edited=${this.edited} @pb-saved=${({ detail }: CustomEvent<ApprovalPolicy>) => this.#policy.set(detail)} @pb-stale=${() => void this.#policy.reload()} @pb-close=${() => {
      this.edited = undefined
    }}></pb-approval-rule-form>`
  }

  #none(): unknown {
    return emptyState({
      icon: 'hand',
      title: t('No rules'),
      text:
        this.subject.kind === 'server'
          ? t('Calls of its tools wait for nobody, unless a rule of a group or of the hub says so.')
          : t('Calls at its address wait for nobody, unless a rule of a server or of the hub says so.'),
    })
  }

  #list(policy: ApprovalPolicy): unknown {
    const { rules, trustAnnotations = false } = policy
    return html`<ol class="list">${rules.map((rule, at) => this.#row(policy, rule, at))}</ol><div class="cb stack"><p class="hint">${t('The first rule that fits holds; a call for which none fits is sent. Of the rules of the hub, the group and the server the strictest counts.')}</p>
      <label class="chk"><input type="checkbox" .checked=${trustAnnotations} ?disabled=${this.busy || !live.reachable} @change=${(event: Event) => void this.#replace(policy, { rules, ...((event.target as HTMLInputElement).checked ? { trustAnnotations: true } : {}) })}><span>${t('Trust what the server says of its tools')}<span class="cellsub">${t('Without it, rules that allow calls may not rely on it.')}</span></span></label></div>`
  }

  #row(policy: ApprovalPolicy, rule: ApprovalRule, at: number): unknown {
    const n = at + 1
    const isOff = this.busy || !live.reachable
    const isLast = n === policy.rules.length
    const isDead = neverFits(rule, policy.trustAnnotations ?? false)
    return html`<li class="rulerow"><span class="words"><span class="row"><b class="tn">${n}</b>${thenMark(rule)}</span><span class="s">${ruleSentence(rule, this.subject.kind)}</span>${
      isDead
        ? html`<span class="hint warn">${t('It never fits while what the server says is not trusted.')}</span>`
        : nothing
    }</span><span class="row"><button type="button" class="btn ghost sm ico" ?disabled=${isOff || at === 0} aria-label=${t('Move rule {n} up', { n })} title=${t('Move rule {n} up', { n })} @click=${() => void this.#move(policy, at, -1)}>${icon('arrow-up')}</button>
      <button type="button" class="btn ghost sm ico" ?disabled=${isOff || isLast} aria-label=${t('Move rule {n} down', { n })} title=${t('Move rule {n} down', { n })} @click=${() => void this.#move(policy, at, 1)}>${icon('arrow-down')}</button>
      <button type="button" class="btn sm" ?disabled=${isOff} aria-label=${t('Edit rule {n}', { n })} @click=${() => this.#open(at)}>${t('Edit')}</button>
      <button type="button" class="btn bad sm" ?disabled=${isOff} aria-label=${t('Delete rule {n}', { n })} @click=${() => void this.#remove(policy, at)}>${t('Delete')}</button></span></li>`
  }

  #open(at: number | undefined): void {
    const policy = this.#policy.data
    if (policy) this.edited = { policy, at }
  }

  async #move(policy: ApprovalPolicy, at: number, by: 1 | -1): Promise<void> {
    const rules = [...policy.rules]
    rules.splice(at + by, 0, ...rules.splice(at, 1))
    await this.#replace(policy, { ...policy, rules })
    await this.updateComplete
    // The focus follows the rule; at an end of the list, one of the two buttons is disabled.
    const buttons = [...(this.querySelectorAll('ol > li')[at + by]?.querySelectorAll('button') ?? [])].slice(0, 2)
    const [first] = (by < 0 ? buttons : buttons.reverse()).filter(button => !button.disabled)
    first?.focus()
  }

  async #remove(policy: ApprovalPolicy, at: number): Promise<void> {
    const { rules, ...rest } = policy
    const rule = rules[at]
    if (!rule) return
    const sure = await confirmed({
      title: t('Delete rule {n}?', { n: at + 1 }),
      text: ruleSentence(rule, this.subject.kind),
      action: t('Delete rule'),
    })
    if (sure) await this.#replace(policy, { ...rest, rules: rules.filter((_, index) => index !== at) })
  }

  async #replace(before: ApprovalPolicy, after: ApprovalPolicy): Promise<void> {
    this.busy = true
    try {
      const saved = await replaceRules(this.subject, before, after)
      if (saved) this.#policy.set(saved)
      else {
        toast(t('Another user has changed these rules. Here they are as they are now.'))
        await this.#policy.reload()
      }
    } catch (error) {
      toast(errorText(asApiError(error)))
      await this.#policy.reload()
    }
    this.busy = false
  }
}
customElements.define('pb-approval-rules', PbApprovalRules)

function thenMark({ then }: ApprovalRule): unknown {
  if (then === 'allow') return html`<span class="tag line">${icon('circle-check')}${t('allow')}</span>`
  if (then === 'deny') return html`<span class="tag bad">${icon('circle-x')}${t('deny')}</span>`
  return html`<span class="tag">${icon('hand')}${t('ask')}</span>`
}
