import { html, nothing } from 'lit'
import { pluginPages } from '../app/plugin-pages.ts'
import { href } from '../app/router.ts'

/** True while a plugin stores log records, so that the console has the page of the logs. */
export function hasLogs(): boolean {
  return pluginPages.has('logs')
}

/** A link to the log records of a query; without their page `instead`, which is nothing where the words only lead there. */
export function logLink(
  query: Readonly<Record<string, string | undefined>>,
  words: unknown,
  { classes = '', instead = nothing }: { readonly classes?: string; readonly instead?: unknown } = {},
): unknown {
  return hasLogs() ? html`<a class=${classes || nothing} href=${href('/logs', query)}>${words}</a>` : instead
}

/** The id of a request, which leads to its log records. */
export function requestLink(requestId: string, classes: string): unknown {
  const instead = html`<span class=${classes}>${requestId}</span>`
  return logLink({ requestId }, requestId, { classes, instead })
}
