/** A text in the languages that its author wrote. */
export type Localized = string | { readonly en: string; readonly zh?: string }

/** An input of a template. */
export interface TemplateInput {
  readonly name: string
  readonly label: string
  readonly description?: Localized
  readonly format: 'string' | 'number' | 'boolean' | 'path'
  readonly placeholder?: string
  readonly required?: boolean
  readonly secret?: boolean
  readonly default?: string
  readonly choices?: readonly string[]
}

/** One way to run a template. */
export interface TemplateVariant {
  readonly id: string
  readonly kind: string
  readonly package?: string
  readonly version?: string
  readonly url?: string
  readonly usable: boolean
  /** Why it cannot be installed. */
  readonly why?: string
}

/** A template of the market. */
export interface Template {
  readonly id: string
  readonly source: string
  readonly name: string
  readonly title?: string
  readonly description?: Localized
  readonly publisher?: string
  readonly verified?: boolean
  readonly version?: string
  readonly status?: string
  readonly homepage?: string
  readonly categories: readonly string[]
  readonly tags: readonly string[]
  readonly inputs: readonly TemplateInput[]
  readonly variants: readonly TemplateVariant[]
  readonly tools?: readonly { readonly name: string; readonly description?: string }[]
  readonly toolCount?: number
  /** The reader's own servers of it. */
  readonly installed: readonly Installed[]
}

/** A server of one's own that was installed from a template. */
interface Installed {
  /** `owner~name`. */
  readonly server: string
  readonly version: string
  /** The template is newer. */
  readonly update: boolean
  /** The version that a downgrade goes back to. */
  readonly previous?: string
}

/** An own server whose source lists another version than the installed one. */
export interface Update {
  /** `owner~name`. */
  readonly server: string
  readonly template: string
  readonly title: string
  readonly state: 'newer' | 'older' | 'other' | 'changed' | 'removed' | 'unavailable'
  readonly installed: string
  readonly available?: string
  readonly deprecated?: boolean
  readonly message?: string
  readonly previous?: string
}

/** A place that its owner and the template both changed. */
export interface UpgradeConflict {
  readonly pointer: string
  readonly installed: unknown
  readonly present: unknown
  readonly offered: unknown
}

/** Preview of changing to another version. */
export interface UpgradePlan {
  readonly from: string
  readonly to: string
  readonly argvBefore: readonly string[]
  readonly argv: readonly string[]
  readonly changes: readonly { readonly pointer: string; readonly from: unknown; readonly to: unknown }[]
  readonly inputs: {
    readonly kept: readonly string[]
    readonly added: readonly TemplateInput[]
    readonly removed: readonly string[]
  }
  /** Pointers of kept manual changes. */
  readonly kept: readonly string[]
  readonly conflicts: readonly UpgradeConflict[]
  readonly missing: readonly string[]
  readonly warnings: readonly string[]
  readonly reconnects: boolean
  readonly planHash: string
}

/** Preview of an installation. */
export interface InstallPlan {
  readonly variant: string
  readonly argv?: readonly string[]
  readonly url?: string
  readonly env: readonly string[]
  readonly headers: readonly string[]
  readonly missing: readonly string[]
  readonly warnings: readonly string[]
  readonly permissions: {
    readonly runs?: boolean
    readonly network?: string
    readonly hosts?: readonly string[]
    readonly secrets?: readonly string[]
  }
  readonly planHash: string
}

/** A source of templates. */
export interface MarketSource {
  readonly id: string
  readonly label: string
  readonly templates: number
  readonly state: string
  readonly readAt?: string
  readonly lastError?: string | { readonly code: string; readonly message: string }
}

/** A text in the language of the page, else in English. */
export function localized(text: Localized | undefined): string {
  if (text === undefined || typeof text === 'string') return text ?? ''
  return (document.documentElement.lang.startsWith('zh') ? text.zh : undefined) ?? text.en
}
