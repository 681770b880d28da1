/** Chinese texts of the form of bundles, by their English. */
export const bundles: Readonly<Record<string, string>> = {
  Bundle: '扩展包',
  'Send a bundle': '上传扩展包',
  'A file that ends in .mcpb or .dxt. It is checked and kept; nothing is installed or started yet.':
    '以 .mcpb 或 .dxt 结尾的文件。会检查并保存，此时不会安装或启动。',
  'Sending and checking': '正在上传并检查',
  'Sent before': '之前上传的',
  'runs {names}': '用于 {names}',
  'Not signed.': '未签名。',
  'Signed; by whom is not checked.': '已签名，未核实签名者。',
  'By its own word from {name}.': '自称来自 {name}。',
  'Another bundle': '换一个扩展包',
  'It may reach the network, as far as granted': '允许它在您获准的范围内访问网络',
  'One a line.': '每行一个。',
}
