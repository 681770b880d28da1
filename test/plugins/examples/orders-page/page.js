/**
 * A page of the console: plain DOM code, no library. The property `console` is a `PageConsole` of `patchbay/contract`.
 */
class OrdersPage extends HTMLElement {
  #console

  set console(given) {
    this.#console = given
    if (this.isConnected) void this.#draw()
  }

  connectedCallback() {
    void this.#draw()
  }

  async #draw() {
    const { api, language, theme, navigate } = this.#console
    const text = document.createElement('p')
    try {
      const { shop, most } = await api.get('/api/plugins/orders-page/orders')
      text.textContent = language === 'zh' ? `${shop} 的 ${most} 个订单` : `${most} orders of ${shop}, ${theme}`
    } catch (error) {
      text.textContent = `${error.code}: ${error.message}`
    }
    const button = document.createElement('button')
    button.className = 'btn'
    button.textContent = language === 'zh' ? '服务器' : 'To the servers'
    button.addEventListener('click', () => navigate('/servers'))
    this.replaceChildren(text, button)
  }
}
customElements.define('orders-page', OrdersPage)
