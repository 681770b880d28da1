import { html, type PropertyValues } from 'lit'
import type { PageConsole } from '../../../core/features/console.ts'
import { api, basePath } from '../../api/client.ts'
import { ApiError, asApiError } from '../../api/problem.ts'
import { type PluginPage, pluginPages, titleOf } from '../../app/plugin-pages.ts'
import { preferences } from '../../app/preferences.ts'
import { router } from '../../app/router.ts'
import { type Crumb, PbPage } from '../../components/page.ts'
import { emptyState, errorState, errorText, skeleton } from '../../components/states.ts'
import { t } from '../../text/t.ts'

/** Plugin and digest of the scripts by the element that they defined. A browser defines a name once: a newer script needs a newly loaded tab. */
const defined = new Map<string, string>()

/** A page of a plugin: loads its module and shows its element. */
export class PbPagePlugin extends PbPage {
  static override properties = { ...PbPage.properties, error: { state: true }, outdated: { state: true } }
  declare error: ApiError | undefined
  /** The script is another one than this tab has loaded. */
  declare outdated: boolean
  /** Name of the page that is shown or being loaded. */
  #wanted: string | undefined
  #element: HTMLElement | undefined
  readonly #repaint = (): void => this.#provide()

  override connectedCallback(): void {
    super.connectedCallback()
    addEventListener('patchbay-theme', this.#repaint)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    removeEventListener('patchbay-theme', this.#repaint)
  }

  get #page(): PluginPage | undefined {
    return pluginPages.find(this.params.plugin ?? '', this.params.page ?? '')
  }

  override crumbs(): readonly Crumb[] {
    const page = this.#page
    return [{ label: page ? titleOf(page) : t('Page of a plugin') }]
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    const page = this.#page
    const wanted = page && `${page.element} ${page.script}`
    if (wanted === this.#wanted) return
    this.#wanted = wanted
    this.#element = undefined
    if (page) void this.#load(page)
  }

  override content(): unknown {
    // Read here, so that a change of the language renders again.
    const { language } = preferences
    if (pluginPages.items === undefined) return skeleton(4)
    if (!this.#page) {
      return emptyState({
        icon: 'puzzle',
        title: t('This page is not there now'),
        text: t('The plugin {name} does not run, or the page is for administrators.', {
          name: this.params.plugin ?? '',
        }),
      })
    }
    if (this.error) return errorState(this.error, () => this.#retry())
    if (this.outdated) {
      return emptyState({
        icon: 'rotate-cw',
        title: t('The plugin has a newer page'),
        action: html`<button type="button" class="btn pri" @click=${() => location.reload()}>${t('Reload the console')}</button>`,
      })
    }
    return this.#element ? html`<div class="plugin-page" lang=${language}>${this.#element}</div>` : skeleton(4)
  }

  protected override updated(): void {
    super.updated()
    if (this.#element && language.get(this.#element) !== preferences.language) this.#provide()
  }

  #retry(): void {
    const page = this.#page
    if (page) void this.#load(page)
  }

  async #load(page: PluginPage): Promise<void> {
    const { element, script, plugin } = page
    // Two pages may share one script, under names of their own.
    const version = script.slice(0, script.lastIndexOf('/'))
    const wanted = this.#wanted
    this.error = undefined
    this.outdated = false
    try {
      const before = defined.get(element)
      if (before === undefined) {
        if (customElements.get(element))
          throw failure(t('The element {name} belongs to the console.', { name: element }))
        await import(`${basePath}${script}`)
        if (!customElements.get(element)) {
          throw failure(t('The script of {plugin} does not define the element {name}.', { plugin, name: element }))
        }
        defined.set(element, version)
      }
      if (wanted !== this.#wanted) return
      if (before !== undefined && before !== version) {
        this.outdated = true
        return
      }
      this.#element = document.createElement(element)
      this.#provide()
      this.requestUpdate()
    } catch (error) {
      if (wanted !== this.#wanted) return
      this.error =
        error instanceof ApiError
          ? error
          : failure(
              t('The script of {plugin} could not be loaded: {reason}', {
                plugin,
                reason: errorText(asApiError(error)),
              }),
            )
    }
  }

  /** Passes the console's functions to the element, and again whenever theme or language change. */
  #provide(): void {
    if (!this.#element) return
    const given: PageConsole = {
      api,
      theme: preferences.dark ? 'dark' : 'light',
      language: preferences.language,
      navigate: path => void router.go(path),
    }
    language.set(this.#element, preferences.language)
    Object.assign(this.#element, { console: given })
  }
}
customElements.define('pb-page-plugin', PbPagePlugin)

const language = new WeakMap<HTMLElement, string>()

function failure(detail: string): ApiError {
  return new ApiError(0, {
    code: 'plugin_page_failed',
    detail,
    hint: t('An administrator finds the plugin under Plugins.'),
  })
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-plugin': PbPagePlugin
  }
}
