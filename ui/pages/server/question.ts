import { html, nothing } from 'lit'
import { PbElement } from '../../components/element.ts'
import { newValue, type PbSchemaForm, type SchemaFormChange } from '../../components/schema-form/schema-form.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { foreignText, webLink } from '../../text/web-link.ts'
import type { Question } from './call.ts'

/** A question of a server during a call: a form, an address to open, or a text that a model would write. */
export class PbServerQuestion extends PbElement {
  static override properties = {
    question: { attribute: false },
    name: {},
    value: { state: true },
    text: { state: true },
  }
  declare question: Question
  /** Name of the server that sent the request. */
  declare name: string
  declare value: unknown
  declare text: string

  protected override firstUpdated(): void {
    this.value = newValue(this.#schema())
    this.querySelector<HTMLElement>('input, textarea, select, button, a')?.focus()
  }

  #schema(): Readonly<Record<string, unknown>> {
    const { requestedSchema } = this.question.params
    return isRecord(requestedSchema) ? requestedSchema : { type: 'object', properties: {} }
  }

  override render(): unknown {
    const { method } = this.question
    return html`<section class="elic" aria-label=${t('Question from the server')}><div class="row">${icon('message-circle-question-mark', { class: 'q' })}<h3 class="sech">${
      method === 'sampling/createMessage'
        ? t('{name} asks a model', { name: this.name })
        : t('{name} asks', { name: this.name })
    }</h3></div>${method === 'sampling/createMessage' ? this.#sampling() : method === 'elicitation/create' ? this.#elicitation() : this.#unknown()}</section>`
  }

  #elicitation(): unknown {
    const { mode, url } = this.question.params
    const message = foreignText(this.question.params.message)
    const decline = html`<button type="button" class="btn" @click=${() => this.question.answer({ action: 'decline' })}>${t('Decline')}</button>`
    if (mode === 'url') {
      const link = webLink(url)
      return html`<p class="s">${message}</p><p class="s">${t('It wants you to open this address:')} <bdi class="mono">${link?.href ?? foreignText(url)}</bdi></p><div class="row wrap">${
        link
          ? html`<a class="btn pri" href=${link.href} target="_blank" rel="noopener noreferrer" @click=${() => this.question.answer({ action: 'accept' })}>${t('Open {host}', { host: link.host })}</a>`
          : html`<p class="hint">${t('The hub makes no link of it: it is no plain http or https address.')}</p>`
      }${decline}</div>`
    }
    return html`<p class="s">${message}</p><pb-schema-form .schema=${this.#schema()} .value=${this.value} @pb-change=${({
      detail,
    }: CustomEvent<SchemaFormChange>) => {
      this.value = detail.value
    }}></pb-schema-form><div class="row wrap"><button type="button" class="btn pri" @click=${this.#answer}>${t('Answer')}</button>${decline}<span class="hint">${t(
      'The answer goes to the server. Type no passwords.',
    )}</span></div>`
  }

  readonly #answer = (): void => {
    const form = this.querySelector<PbSchemaForm>('pb-schema-form')
    if (form?.check().length) return
    this.question.answer({ action: 'accept', content: this.value ?? {} })
  }

  #sampling(): unknown {
    const { messages, systemPrompt } = this.question.params
    const listed = Array.isArray(messages) ? messages.filter(isRecord) : []
    const answer = (): void =>
      this.question.answer({
        role: 'assistant',
        content: { type: 'text', text: this.text ?? '' },
        model: 'human',
        stopReason: 'endTurn',
      })
    return html`${systemPrompt === undefined ? nothing : html`<p class="s q">${foreignText(systemPrompt)}</p>`}${listed.map(
      ({ role, content }) => html`<p class="s"><span class="q">${foreignText(role)}:</span> ${textOf(content)}</p>`,
    )}<div class="field"><label for="sampling-answer">${t('Answer in the model’s place')}</label><textarea id="sampling-answer" class="in" rows="3" .value=${this.text ?? ''}
      @input=${(event: InputEvent) => {
        this.text = (event.target as HTMLTextAreaElement).value
      }}></textarea></div><div class="row wrap"><button type="button" class="btn pri" @click=${answer}>${t('Answer')}</button><button type="button" class="btn"
      @click=${() => this.question.refuse('The user declined')}>${t('Decline')}</button></div>`
  }

  #unknown(): unknown {
    return html`<p class="s">${t('It sent {method}, which cannot be answered here.', { method: this.question.method })}</p><button type="button" class="btn"
      @click=${() => this.question.refuse('The console cannot answer this')}>${t('Decline')}</button>`
  }
}
customElements.define('pb-server-question', PbServerQuestion)

function textOf(content: unknown): string {
  return foreignText(isRecord(content) && typeof content.text === 'string' ? content.text : content)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-server-question': PbServerQuestion
  }
}
