/** The part of the Standard Schema interface that the host calls (https://standardschema.dev). */
export interface ConfigSchema<Config> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (
      value: unknown,
    ) =>
      | { readonly value: Config; readonly issues?: undefined }
      | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] }
      | Promise<
          | { readonly value: Config; readonly issues?: undefined }
          | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] }
        >
    /**
     * The schema as JSON Schema (https://standardschema.dev/json-schema); schemas of zod have it. The console draws its form
     * by it; `writeOnly: true` marks a secret.
     */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
      readonly output?: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    }
  }
}
