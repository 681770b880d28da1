import { html as staticHtml, unsafeStatic } from 'lit/static-html.js'
import type { PieceSubject } from './part.ts'
import type { Match } from './places.ts'
import type { Place } from './router.ts'

/** The element of a page, which gets the parameters of its path and the query as properties. */
export function pageElement({ place: { element }, params }: Match, { query }: Place): unknown {
  const tag = unsafeStatic(element)
  return staticHtml`<${tag} .params=${params} .query=${query}></${tag}>`
}

/** An element by its name, with the property `subject` if there is one. */
export function namedElement(name: string, subject?: PieceSubject): unknown {
  const tag = unsafeStatic(name)
  return subject === undefined ? staticHtml`<${tag}></${tag}>` : staticHtml`<${tag} .subject=${subject}></${tag}>`
}
