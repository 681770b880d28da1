/** A server that users can install: plain texts, https links. */
export interface ServerTemplate {
  /** Unique in its source. */
  readonly name: string
  readonly title: string
  readonly description: string | { readonly en: string; readonly zh: string }
  readonly version: string
  readonly status?: 'active' | 'deprecated'
  /** A notice for its user. */
  readonly message?: string
  readonly publisher?: string
  readonly homepage?: string
  readonly repository?: string
  readonly license?: string
  readonly categories: readonly string[]
  readonly tags?: readonly string[]
  /** Number of its tools when somebody counted them. */
  readonly toolCount?: number
  /** Time at which this version was published, ISO 8601 UTC. */
  readonly updatedAt?: string
  /** Ways to run it, the best first. */
  readonly variants: readonly TemplateVariant[]
  readonly inputs: readonly TemplateInput[]
}

/** One way to run a template. `{name}` in texts stands for an input; a word of `args` is one word whatever is in it. */
export interface TemplateVariant {
  readonly id: string
  readonly kind: 'npm' | 'pypi' | 'remote'
  /** Name in the package registry. It comes with an exact version. */
  readonly package?: string
  readonly version?: string
  /**
   * Arguments behind the package. The words of an inner list are given together, or not at all where one of their inputs has no
   * value.
   */
  readonly args?: readonly (string | readonly string[])[]
  readonly env?: Readonly<Record<string, string>>
  /** Remote: https. */
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Remote: default `streamable-http`. */
  readonly transport?: 'sse' | 'streamable-http'
}

/** A value that a user enters for a template. */
export interface TemplateInput {
  readonly name: string
  /** For people. Default: made of the name. */
  readonly label?: string
  readonly description?: string
  /** Type of the value; a `path` refers to the machine that runs the server. Default `string`. */
  readonly format?: 'string' | 'number' | 'boolean' | 'path'
  /** An example, shown while nothing is entered. */
  readonly placeholder?: string
  readonly required?: boolean
  readonly secret?: boolean
  readonly default?: string
  readonly choices?: readonly string[]
}
