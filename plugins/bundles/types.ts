declare module 'patchbay/contract' {
  interface ErrorCodes {
    bundle_invalid: never
    bundle_not_found: never
    bundle_unusable: never
    bundle_in_use: never
    quota_bundles: never
    bundle_too_large: never
  }
  interface FieldCodes {
    bundle_missing: never
  }
}

/** The limits of bundles. */
export interface BundleLimits {
  readonly bundlesPerUser: number
  /** Bytes of one file. */
  readonly bundleBytes: number
  /** Bytes of a user's bundles: the packed files, and the disk space of their unpacked content. Administrators are exempt. */
  readonly diskBytesPerUser: number
}
