import { t } from '../../text/t.ts'

/** Short reason why a server is offline, in the console's words; undefined if only its own text explains it. */
export function causeOf(code: string): string | undefined {
  return causes()[code]
}

/** True for a reason that ends when the user signs in at the server. */
export function endsBySignIn(code: string | undefined): boolean {
  return code === 'sign_in_needed' || code === 'resource_changed' || code === 'scope_denied'
}

/** A function, since the words follow the language. */
function causes(): Readonly<Record<string, string>> {
  return {
    command_not_found: t('the program is not there'),
    command_not_executable: t('the program cannot be executed'),
    cwd_not_found: t('its folder is not there'),
    spawn_failed: t('the program cannot be started'),
    connection_lost: t('the connection was lost'),
    crash_loop: t('it ends again and again'),
    upstream_dns_error: t('its name is not known'),
    upstream_tls_error: t('its certificate is not accepted'),
    proxy_failed: t('the proxy does not connect to it'),
    upstream_http_error: t('it answers with an error'),
    upstream_protocol: t('it does not keep to MCP'),
    upstream_init_timeout: t('it does not answer the first request'),
    upstream_timeout: t('it does not answer in time'),
    upstream_flood: t('it sent too much'),
    authorization_required: t('token refused'),
    sign_in_needed: t('it wants you to sign in'),
    resource_changed: t('its address has changed since the sign-in'),
    scope_denied: t('the permission given does not suffice'),
    url_address_blocked: t('the hub may not connect there'),
    network_not_permitted: t('the hub may not connect there'),
    stdio_not_permitted: t('its owner may not run programs'),
    owner_disabled: t('the account of its owner is shut'),
    review_required: t('waits for a review'),
    config_invalid: t('its settings are not valid'),
    variable_unknown: t('a variable of its settings is not set'),
    era_not_spoken: t('it speaks another version of MCP'),
    stopped: t('stopped by hand'),
    idle: t('sleeps until it is called'),
  }
}
