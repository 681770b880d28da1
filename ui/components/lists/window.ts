import type { ReactiveController, ReactiveControllerHost } from 'lit'

/** Number of rows that are rendered beyond the view on each side. */
const MARGIN_ROWS = 10
/** With fewer rows than this left beyond the view, the list is rendered again. */
const LEAST_ROWS = 4

/** The rows of a long list that are in the document. */
export interface Slice {
  readonly first: number
  /** Behind the last one. */
  readonly end: number
}

/**
 * Keeps the rows of a long list near the view in the document, while the page scrolls. The host renders `slice(count)` and
 * calls `rendered` after each rendering. Measures are taken only when the browser has laid the page out anyway: while it
 * scrolls, and after the list has got another size.
 */
export class ListWindow implements ReactiveController {
  readonly #host: ReactiveControllerHost & Element
  readonly #from: number
  #rowHeight: number
  #topOfList = 0
  // Cached, since reading them forces the browser to lay out recent changes.
  #scrolledTo = 0
  #viewHeight = innerHeight
  #count = 0
  #shown: Slice = { first: 0, end: 0 }
  #body: Element | undefined
  // In the next frame, since a list that changes its size here would call the observer again.
  readonly #size = new ResizeObserver(() => requestAnimationFrame(this.#look))

  /** `from`: lists of up to this number of rows are rendered completely. `rowHeight`: estimate until rows were measured. */
  constructor(host: ReactiveControllerHost & Element, from: number, rowHeight: number) {
    this.#host = host
    this.#from = from
    this.#rowHeight = rowHeight
    host.addController(this)
  }

  hostConnected(): void {
    addEventListener('scroll', this.#look, { passive: true })
    addEventListener('resize', this.#look, { passive: true })
    if (this.#body) this.#size.observe(this.#body)
  }

  hostDisconnected(): void {
    removeEventListener('scroll', this.#look)
    removeEventListener('resize', this.#look)
    this.#size.disconnect()
  }

  /** The rows to render out of `count`; the same as before while there are enough of them beyond the view. */
  slice(count: number): Slice {
    this.#count = count
    if (!this.#isEnough()) this.#shown = count <= this.#from ? { first: 0, end: count } : this.#around(MARGIN_ROWS)
    return this.#shown
  }

  /** Height of the rows that are left out on one side, in pixels. */
  heightOf(rows: number): number {
    return Math.round(rows * this.#rowHeight)
  }

  /** Sets the height of the spacer rows (`data-spacer`: number of omitted rows). `body`: the element around the rows. */
  rendered(body: HTMLElement | null): void {
    if (!body) return
    for (const spacer of body.querySelectorAll<HTMLElement>(':scope > [data-spacer]')) {
      const height = `${this.heightOf(Number(spacer.dataset.spacer))}px`
      if (spacer.style.height !== height) spacer.style.height = height
    }
    if (body === this.#body) return
    this.#size.disconnect()
    this.#size.observe(body)
    this.#body = body
  }

  #around(margin: number): Slice {
    const top = this.#scrolledTo - this.#topOfList
    const within = (row: number): number => Math.min(Math.max(0, row), this.#count)
    return {
      first: within(Math.floor(top / this.#rowHeight) - margin),
      end: within(Math.ceil((top + this.#viewHeight) / this.#rowHeight) + margin),
    }
  }

  #isEnough(): boolean {
    const { first, end } = this.#shown
    if (this.#count <= this.#from) return first === 0 && end === this.#count
    const [least, most] = [this.#around(LEAST_ROWS), this.#around(2 * MARGIN_ROWS)]
    return first <= least.first && end >= least.end && first >= most.first && end <= most.end
  }

  readonly #look = (): void => {
    if (!this.#body) return
    this.#scrolledTo = scrollY
    this.#viewHeight = innerHeight
    if (this.#count <= this.#from) return
    const rows = this.#body.querySelectorAll(':scope > [data-key]')
    const [top, bottom] = [rows[0]?.getBoundingClientRect().top, rows[rows.length - 1]?.getBoundingClientRect().bottom]
    this.#topOfList = this.#body.getBoundingClientRect().top + this.#scrolledTo
    if (top !== undefined && bottom !== undefined && bottom > top) this.#rowHeight = (bottom - top) / rows.length
    if (!this.#isEnough()) this.#host.requestUpdate()
  }
}
