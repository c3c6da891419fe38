// A short sound for a new alert. A browser allows it only after a click.

const button = document.getElementById("sound");
let audio = null;

function show(on) {
  if (!button) return;
  button.setAttribute("aria-pressed", String(on));
  button.textContent = on ? "Sound on" : "Sound off";
}

button?.addEventListener("click", () => {
  if (audio) {
    audio.close();
    audio = null;
  } else {
    audio = new AudioContext();
    beep();
  }
  show(audio !== null);
});

export function beep() {
  if (!audio) return;
  for (const [at, pitch] of [[0, 660], [0.18, 880]]) {
    const tone = audio.createOscillator(), gain = audio.createGain();
    const begin = audio.currentTime + at;
    tone.frequency.value = pitch;
    gain.gain.setValueAtTime(0.0001, begin);
    gain.gain.exponentialRampToValueAtTime(0.2, begin + 0.02);
    gain.gain.exponentialRampToValueAtTime(0.0001, begin + 0.16);
    tone.connect(gain).connect(audio.destination);
    tone.start(begin);
    tone.stop(begin + 0.17);
  }
}
