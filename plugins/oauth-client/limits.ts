/** Limits of what the plugin keeps, by their names in the settings. */
export const LIMITS = {
  /** Sign-ins of one user; beyond that those that have ended go first, then the one used longest ago. */
  credentialsPerUser: 200,
  /** Registrations of the hub at issuers. */
  registrations: 1_000,
}
