/** An input of a bundle. */
export interface BundleInput {
  readonly name: string
  readonly label: string
  readonly description?: string
  readonly required: boolean
  readonly secret: boolean
  readonly format: 'string' | 'number' | 'boolean' | 'path'
  /** Takes a list of texts. */
  readonly many: boolean
  readonly default?: string | number | boolean | readonly string[]
}

/** A bundle (MCPB) that was sent to the hub. */
export interface Bundle {
  /** SHA-256 of the file. */
  readonly bundleId: string
  readonly name: string
  readonly title: string
  readonly version: string
  readonly description?: string
  readonly publisher?: string
  readonly type: string
  readonly bytes: number
  /** `not-checked`: it is signed, but the signer is unknown. */
  readonly signature: 'none' | 'not-checked'
  readonly usable: boolean
  /** Why it cannot be installed. */
  readonly why?: string
  readonly inputs: readonly BundleInput[]
  readonly tools: readonly { readonly name: string; readonly description?: string }[]
  /** The reader's servers that run it. */
  readonly servers: readonly string[]
  readonly usedAt: string
}

/** Preview of installing a bundle. */
export interface BundlePlan {
  readonly argv: readonly string[]
  readonly missing: readonly string[]
  readonly warnings: readonly string[]
  readonly planHash: string
}
