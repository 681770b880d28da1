import { html, type TemplateResult } from 'lit'
import { icon, t } from 'patchbay/console'
import type { Template } from './api.ts'

/** The name of a category in the language of the page; an unknown one is unchanged. */
export function categoryName(name: string): string {
  const names: Readonly<Record<string, () => string>> = {
    ai: () => t('AI'),
    automation: () => t('Automation'),
    browser: () => t('Browser'),
    business: () => t('Business'),
    cloud: () => t('Cloud'),
    communication: () => t('Communication'),
    database: () => t('Databases'),
    design: () => t('Design'),
    developer: () => t('Development'),
    files: () => t('Files'),
    finance: () => t('Finance'),
    knowledge: () => t('Knowledge'),
    maps: () => t('Maps'),
    media: () => t('Media'),
    monitoring: () => t('Monitoring'),
    productivity: () => t('Productivity'),
    search: () => t('Search'),
    travel: () => t('Travel'),
    utilities: () => t('Utilities'),
    utility: () => t('Utilities'),
  }
  return names[name]?.() ?? name
}

/** Transport of a template, as icon and word. */
export function kindMark({ variants }: Template): TemplateResult {
  const [first] = variants
  const remote = first?.url !== undefined
  return html`<span class="st rest">${icon(remote ? 'globe' : 'terminal')}${remote ? 'HTTP' : 'stdio'}</span>`
}
