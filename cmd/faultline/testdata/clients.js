// Asks an address with the two clients of Node and tells what each made of it.
const http = require('node:http');
const url = process.argv[2];

const byHttp = new Promise((resolve, reject) => {
  http.get(url, (answer) => {
    let body = '';
    answer.on('data', (chunk) => { body += chunk; });
    answer.on('end', () => resolve(`${answer.statusCode} ${body}`));
    answer.on('error', reject);
  }).on('error', reject);
});
const byFetch = fetch(url).then(async (answer) => `${answer.status} ${await answer.text()}`);

for (const [name, asked] of [['http', byHttp], ['fetch', byFetch]]) {
  asked.then((text) => console.log(`${name}: answer ${text}`), (e) => console.log(`${name}: error ${e.message}`));
}
